//! Numpy arrays in a pickle, by what would have been called to make them.
//!
//! ```text
//! _reconstruct(ndarray, (0,), 'b') with the state (version, shape, dtype, in Fortran order, bytes)
//! _frombuffer(bytes, dtype, shape, order)                               protocol 5
//! dtype('f8', ...) with the state (version, '<', ...)
//! ```
//!
//! Shape, type and bytes are handed to the reader of `.npy` files, which knows types and checks sizes.

use std::io::Read;

use ncde_data::npy;

use super::pickle::{Id, Node, Pickle};

/// Numbers in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f64>,
}

/// The array at a node.
///
/// # Errors
/// If there is none, or one that was passed over, or its bytes are not those of its shape.
pub(super) fn array(pickle: &Pickle, id: Id) -> Result<Array, String> {
    let Node::Object { callee, arguments, state } = pickle.node(id) else {
        return Err("is no array".into());
    };
    let Node::Global(_, name) = pickle.node(*callee) else { return Err("is no array".into()) };
    let list = |id: Option<&Id>| match id.map(|&id| pickle.node(id)) {
        Some(Node::Tuple(own)) => Ok(own.as_slice()),
        _ => Err("is a broken array".to_owned()),
    };
    let (shape, dtype, fortran, data) = match (name.as_str(), state) {
        ("_reconstruct", Some(state)) => match list(Some(state))? {
            [_, shape, dtype, order, data] => (shape, dtype, integer(pickle, *order, "an order")? != 0, data),
            _ => return Err("is a broken array".into()),
        },
        ("_frombuffer", _) => match list(Some(arguments))? {
            [data, dtype, shape, order] => (shape, dtype, text(pickle, *order)? == "F", data),
            _ => return Err("is a broken array".into()),
        },
        (other, _) => return Err(format!("is what `{other}` makes, and no array")),
    };
    let shape: Result<Vec<usize>, String> = list(Some(shape))?.iter().map(|&size| count(pickle, size)).collect();
    let bytes = match pickle.node(*data) {
        Node::Bytes(bytes) => bytes,
        Node::Long => return Err("is longer than any recording at the wrist".into()),
        _ => return Err("is a broken array".into()),
    };
    decoded(&descriptor(pickle, *dtype)?, fortran, &shape?, bytes)
}

/// What a type is called in a header: `<f8`.
fn descriptor(pickle: &Pickle, id: Id) -> Result<String, String> {
    let broken = || "has a type that is none".to_owned();
    let Node::Object { arguments, state: Some(state), .. } = pickle.node(id) else { return Err(broken()) };
    let (Node::Tuple(arguments), Node::Tuple(state)) = (pickle.node(*arguments), pickle.node(*state)) else {
        return Err(broken());
    };
    let (code, order) = (arguments.first().ok_or_else(broken)?, state.get(1).ok_or_else(broken)?);
    let (code, order) = (text(pickle, *code)?, text(pickle, *order)?);
    // A header is a line of Python: nothing but letters and digits may come into it.
    let plain = code.chars().all(|letter| letter.is_ascii_alphanumeric()) && ["<", ">", "|", "="].contains(&order.as_str());
    if plain { Ok(order + &code) } else { Err(broken()) }
}

fn decoded(dtype: &str, fortran: bool, shape: &[usize], bytes: &[u8]) -> Result<Array, String> {
    let order = if fortran { "True" } else { "False" };
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let header = format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': ({sizes}), }}\n");
    let length = u16::try_from(header.len()).map_err(|_| "has a shape that is none".to_owned())?;
    let start = [npy::MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes()].concat();
    let all = start.len() + bytes.len();
    let own = npy::read("array", start.as_slice().chain(bytes), Some(all as u64)).map_err(|e| e.to_string())?;
    let values = own.data.into_f64().ok_or("holds text, and no numbers")?;
    Ok(Array { shape: own.shape, values })
}

fn integer(pickle: &Pickle, id: Id, what: &str) -> Result<i64, String> {
    if let Node::Int(number) = pickle.node(id) { Ok(*number) } else { Err(format!("has {what} that is none")) }
}

fn count(pickle: &Pickle, id: Id) -> Result<usize, String> {
    usize::try_from(integer(pickle, id, "a shape")?).map_err(|_| "has a shape that is none".into())
}

fn text(pickle: &Pickle, id: Id) -> Result<String, String> {
    match pickle.node(id) {
        Node::Bytes(own) => String::from_utf8(own.clone()).map_err(|_| "has a name that is none".into()),
        _ => Err("has a name that is none".into()),
    }
}
