//! Without a file: the two corners, which have the same ends and opposite signed areas.

use ncde_signature::Basis;

use super::answer;
use super::compute::Answer;
use super::request::{Kind, Request};
use super::show;
use crate::array::{Array, Data, Input, Origin};
use crate::error::Failure;
use crate::output;

/// Right then up, up then right.
const CORNERS: [f64; 12] = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0];

const LESSON: &str = "Same ends; the signed area [1,2], +1/2 or -1/2, tells the order of the moves.";

pub(super) fn input() -> Input {
    Input {
        name: "the built-in example".into(),
        array: Array { shape: vec![2, 3, 2], data: Data::F64(CORNERS.into()) },
        origin: Origin::Entries,
        note: None,
    }
}

/// The signature and the log-signature, or only the latter if that was asked for.
pub(super) fn show(request: &Request, input: &Input) -> Result<(), Failure> {
    let kinds = match request.kind {
        Kind::Signature => vec![Kind::Signature, Kind::Log(Basis::Lyndon)],
        Kind::Log(_) => vec![request.kind],
    };
    output::data(|out| {
        writeln!(out, "path 1: (0,0) -> (1,0) -> (1,1), right then up")?;
        writeln!(out, "path 2: (0,0) -> (0,1) -> (1,1), up then right\n")
    })?;
    for kind in kinds {
        let answer = answer(&Request { kind, ..request.clone() }, input)?;
        show::table(&answer)?;
        output::data(|out| writeln!(out))?;
        if shows_the_areas(&answer) {
            output::data(|out| writeln!(out, "{LESSON}"))?;
        }
    }
    output::info("next: ncde signature --input FILE.csv --depth 3 --log; `--help` has more");
    Ok(())
}

/// Flags can ask for something else of the two paths.
fn shows_the_areas(answer: &Answer) -> bool {
    let labels = answer.signature.labels();
    let data = &answer.rows.array.data;
    let area = labels.iter().position(|label| label == "[1,2]");
    answer.rows.axes == ["path"] && area.is_some_and(|i| data.get(i) == 0.5 && data.get(i + labels.len()) == -0.5)
}
