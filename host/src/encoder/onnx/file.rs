//! Checks of an ONNX file before an engine reads it.
//!
//! First, a number has at most ten bytes, and the content of a message ends where the message does.
//! Otherwise `rten` 0.27 never returns from a longer number, which any file of another kind may
//! contain, and allocates as much memory as a string claims to need. Second, there are no weights
//! in a second file: the digest that identifies the encoder would not cover them, and ONNX Runtime
//! would read them from the working directory.

/// The messages of the format that `rten` reads or that contain tensors.
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
    /// A message without nested messages: names, numbers.
    Names,
}

impl Message {
    /// The type of the nested message in a field of bytes, if it is one of these.
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

/// The deepest nesting of messages. A graph in a branch of a graph takes three levels.
const DEPTH: usize = 30;

const DAMAGED: &str = "it is not a whole ONNX file; is it a download that failed?";
const EXTERNAL: &str = "it keeps weights in a second file, which the encoder's digest would not cover; save it as one file";

/// Refuses a truncated file, as far as it is parsed here, and weights in a second file.
pub(super) fn check(model: &[u8]) -> Result<(), String> {
    // Every model has a graph, and an empty file would pass otherwise.
    let has_graph = walk(Message::Model, model, DEPTH)?;
    if has_graph {
        Ok(())
    } else {
        Err(DAMAGED.to_owned())
    }
}

/// Walks a message and its nested messages, and returns whether it directly contains a graph.
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

/// Removes a field from the front and returns its number and value.
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

/// Removes a number from the front: seven bits per byte, lowest first, at most ten bytes.
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let length = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)? + 1;
    let number = bytes.split_off(..length)?;
    let digits = number.iter().rev().map(|byte| u64::from(byte & 0x7f));
    Some(digits.fold(0, |number, digit| number << 7 | digit))
}
