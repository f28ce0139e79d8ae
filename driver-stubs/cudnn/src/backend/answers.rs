//! What the library itself answers: engines, notes, workspace sizes.
//! It stores nothing.

use super::attribute::{descriptor, kind};
use super::content::{Content, Value};
use crate::graph::{TENSOR_CORES, WITHOUT_TENSOR_CORES, has_tf32};
use std::sync::Arc;

/// `CUDNN_NUMERICAL_NOTE_TENSOR_CORE`.
const TENSOR_CORE_NOTE: i32 = 0;

/// The value of an attribute: what was set, or what we answer. `None` = neither.
pub fn value(content: &Content, name: i32) -> Option<Value> {
    if let Some(set) = content.values.get(&name) {
        return Some(set.clone());
    }
    let integer = |value: i64| Value::Plain { kind: kind::INT64, count: 1, bytes: value.to_le_bytes().to_vec() };
    let none = |kind| Value::Plain { kind, count: 0, bytes: Vec::new() };
    Some(match name {
        // Workspaces: nothing here needs one.
        303 | 402 => integer(0),
        304 => Value::Plain { kind: kind::INT32, count: 1, bytes: vec![0; 4] },
        403 | 404 => none(kind::INT64),
        202 => Value::Descriptors(configurations(content)),
        802 => integer(engines(content).len() as i64),
        301 | 302 | 1302 | 1304 => Value::Descriptors(Vec::new()),
        1303 => notes(content),
        1305 => none(19),
        2401 => Value::Plain { kind: kind::BOOLEAN, count: 1, bytes: vec![1] },
        907 | 908 => Value::Plain { kind: kind::BOOLEAN, count: 1, bytes: vec![0] },
        _ => return None,
    })
}

/// Engines that can run a graph: in single precision one with and one without TF32, else one.
fn engines(graph: &Content) -> &'static [i64] {
    if has_tf32(graph) { &[TENSOR_CORES, WITHOUT_TENSOR_CORES] } else { &[TENSOR_CORES] }
}

/// Heuristics' answer: an engine configuration for each engine, best first.
fn configurations(heuristics: &Content) -> Vec<Arc<Content>> {
    let Some(graph) = heuristics.descriptors(201).first() else {
        return Vec::new();
    };
    let configuration = |&index: &i64| {
        let mut engine = Content::new(descriptor::ENGINE);
        engine.set_descriptor(1300, graph.clone());
        engine.set_integer(1301, kind::INT64, index);
        let mut configuration = Content::new(descriptor::ENGINE_CONFIG);
        configuration.set_descriptor(300, Arc::new(engine));
        Arc::new(configuration)
    };
    engines(graph).iter().map(configuration).collect()
}

/// The tensor core note tells TF32 from single precision; engines of narrow types carry none, because callers take
/// the note for TF32.
fn notes(engine: &Content) -> Value {
    let tf32 = engine.descriptor(1300).is_some_and(has_tf32) && engine.integer(1301) == Some(TENSOR_CORES);
    match tf32 {
        true => Value::Plain { kind: 11, count: 1, bytes: TENSOR_CORE_NOTE.to_le_bytes().to_vec() },
        false => Value::Plain { kind: 11, count: 0, bytes: Vec::new() },
    }
}
