//! A look at an ONNX file before an engine reads it.
//!
//! It checks two things. A number has at most ten bytes, and what is inside a message ends where the message
//! does: `rten` 0.27 never returns from a longer number, which any file of another kind may contain, and asks for
//! as much memory as a string claims to need. And weights in a second file are not covered by the digest that
//! names the encoder; ONNX Runtime would take them from the working directory.

/// The messages of the format that `rten` reads or that lead to tensors.
#[derive(Clone, Copy)]
enum Message {
    Model,
    Function,
    Graph,
    Node,
    Attribute,
    Tensor,
    SparseTensor,
    Value,
    Type,
    TensorType,
    SequenceType,
    Shape,
    /// One without messages inside: names, numbers.
    Names,
}

impl Message {
    /// What a field of bytes holds, if that is one of these messages.
    fn inside(self, field: u64) -> Option<Self> {
        Some(match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6 | 11) => Self::Graph,
            (Self::Model, 25) => Self::Function,
            (Self::Function, 7) | (Self::Graph, 1) => Self::Node,
            (Self::Node, 5) => Self::Attribute,
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) | (Self::SparseTensor, 1 | 2) => {
                Self::Tensor
            }
            (Self::Graph, 15) | (Self::Attribute, 22 | 23) => Self::SparseTensor,
            (Self::Graph, 11..=13) => Self::Value,
            (Self::Value, 2) | (Self::SequenceType, 1) => Self::Type,
            (Self::Type, 1) => Self::TensorType,
            (Self::Type, 4) => Self::SequenceType,
            (Self::TensorType, 2) => Self::Shape,
            (Self::Shape, 1) | (Self::Model, 8 | 14) | (Self::Tensor, 13) => Self::Names,
            _ => return None,
        })
    }
}

/// Messages inside each other, at most. A graph in a branch of a graph takes three.
const DEPTH: usize = 30;

const DAMAGED: &str = "it is not a whole ONNX file; is it a download that failed?";
const EXTERNAL: &str = "it keeps weights in a second file, which the encoder's digest would not cover; save it as one file";

/// Refuses a file that is cut off where it is read here, and weights in a second file.
pub(super) fn check(model: &[u8]) -> Result<(), String> {
    // Every model has a graph. Without this check an empty file would pass.
    let has_graph = walk(Message::Model, model, DEPTH)?;
    if has_graph {
        Ok(())
    } else {
        Err(DAMAGED.to_owned())
    }
}

/// Whether a graph is directly inside this message.
fn walk(message: Message, mut bytes: &[u8], depth: usize) -> Result<bool, String> {
    const DATA_LOCATION: u64 = 14;
    let mut has_graph = false;
    while !bytes.is_empty() {
        let (field, value) = take_field(&mut bytes).ok_or(DAMAGED)?;
        match value {
            Value::Number(location) => {
                if matches!(message, Message::Tensor) && field == DATA_LOCATION && location != 0 {
                    return Err(EXTERNAL.to_owned());
                }
            }
            Value::Bytes(inner) => {
                if let Some(inside) = message.inside(field) {
                    walk(inside, inner, depth.checked_sub(1).ok_or(DAMAGED)?)?;
                    has_graph |= matches!(inside, Message::Graph);
                }
            }
            Value::Fixed => {}
        }
    }
    Ok(has_graph)
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Fixed,
}

/// Takes a field off the front: its number and its value.
fn take_field<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let tag = take_number(bytes)?;
    let value = match tag & 7 {
        0 => Value::Number(take_number(bytes)?),
        1 => bytes.split_off(..8).map(|_| Value::Fixed)?,
        2 => {
            let length = usize::try_from(take_number(bytes)?).ok()?;
            Value::Bytes(bytes.split_off(..length)?)
        }
        5 => bytes.split_off(..4).map(|_| Value::Fixed)?,
        _ => return None,
    };
    Some((tag >> 3, value))
}

/// Takes a number off the front: seven bits a byte, the lowest first, at most ten bytes.
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let length = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)? + 1;
    let number = bytes.split_off(..length)?;
    let digits = number.iter().rev().map(|byte| u64::from(byte & 0x7f));
    Some(digits.fold(0, |number, digit| number << 7 | digit))
}
