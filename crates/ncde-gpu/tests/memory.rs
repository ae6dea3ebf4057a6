//! Memory that runs out is an error, and the device goes on.

use ncde_gpu::{Error, guarded};

use crate::device::gpu;

#[test]
fn a_buffer_that_does_not_fit_is_an_error_with_its_size() {
    let far_too_much = 1_usize << 44;
    let asked = |bytes: usize| {
        guarded(
            || Ok(gpu()),
            || {
                let gpu = gpu();
                let buffer = gpu.client().empty(bytes);
                gpu.get(&buffer).map(|numbers| numbers.len())
            },
        )
    };
    match asked(far_too_much) {
        Err(Error::Memory { asked, most, .. }) => assert!(asked >= far_too_much as u64 && most < asked, "{asked} {most}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(asked(64), Ok(Ok(16)));
}
