//! `leasebench parse model_file FILE`: facts of a model from its settings or a header, in the shape of a probe's answer.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::domain::facts::{Absent, AbsentKind, Device, Fact, Finding, Key, Severity, Value};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::memory::source::{self, ModelSource, TensorGroup};
use crate::domain::text::Text;
use crate::probe::Reading;

/// What stands in the place of a probe's id.
pub(super) const ID: &str = "model_file";

/// Reads the head of a file, which is all that a header needs.
pub(super) fn read(path: &Path, text: &Text) -> Result<Reading, Failure> {
    let unreadable = |error: io::Error| Failure::new(FailureKind::FileUnreadable).because(error).at(path.display());
    let mut bytes = Vec::new();
    let file_len = if path == Path::new("-") {
        io::stdin().lock().take(source::HEAD_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
        None
    } else {
        let file = File::open(path).map_err(unreadable)?;
        let len = file.metadata().map_err(unreadable)?.len();
        file.take(source::HEAD_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
        Some(len)
    };
    Ok(match source::read_model(&path.to_string_lossy(), &bytes, file_len) {
        Ok(model) => reading(&model, text),
        Err(error) => Reading {
            absent: Some(Absent::new(AbsentKind::Unreadable, text.source_error(&error))),
            ..Reading::default()
        },
    })
}

/// Columns of the catalogue as facts of `model`, then totals of its tensors by part.
fn reading(model: &ModelSource, text: &Text) -> Reading {
    let device = Device("model".to_owned());
    let mut facts = Vec::new();
    let mut push = |device: &Device, key: Cow<'static, str>, value: Value, unit: &'static str| {
        facts.push(Fact { device: device.clone(), key: Key(key), value: Ok(value), unit: unit.into() });
    };
    push(&device, "source".into(), Value::Text(text.name(model.kind.name()).to_owned()), "");
    if let Ok(serde_json::Value::Object(columns)) = serde_json::to_value(&model.facts) {
        for (column, value) in columns {
            let value = match value {
                serde_json::Value::Null => continue,
                serde_json::Value::String(text) if text.is_empty() => continue,
                serde_json::Value::String(text) => Value::Text(text),
                serde_json::Value::Number(n) => match n.as_i64() {
                    Some(n) => Value::Int(n),
                    None => continue,
                },
                other => Value::Text(group(&other)),
            };
            push(&device, column.into(), value, "");
        }
    }
    if let Some(list) = &model.tensors {
        if let Some(n) = list.total_bytes().and_then(|n| i64::try_from(n).ok()) {
            push(&device, "tensor_bytes".into(), Value::Int(n), "bytes");
        }
        if let Some(bits) = list.bits_per_element() {
            push(&device, "bits_per_element".into(), Value::Float((bits * 1e4).round() / 1e4), "bit");
        }
        for (part, total) in list.by_group() {
            let device = Device(format!("model/{}", word(part)));
            for (key, n, unit) in [
                ("tensors", total.n_tensors, ""),
                ("tensor_bytes", total.bytes, "bytes"),
                ("unquantised_bytes", total.plain_bytes, "bytes"),
            ] {
                push(&device, key.into(), Value::Int(i64::try_from(n).unwrap_or(i64::MAX)), unit);
            }
        }
    }
    let finding =
        |note| Finding { severity: Severity::NotJudged, code: "model_file".into(), text: text.source_note(note) };
    Reading { facts, findings: model.notes.iter().map(finding).collect(), absent: None }
}

/// `true`, or a group of weights as the catalogue writes it: 128, 128x128.
fn group(value: &serde_json::Value) -> String {
    match value.as_object().and_then(|map| map.iter().next()) {
        Some((_, serde_json::Value::Array(sides))) => {
            sides.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
        }
        Some((_, other)) => other.to_string(),
        None => value.to_string(),
    }
}

/// The words that scripts read.
const fn word(part: TensorGroup) -> &'static str {
    match part {
        TensorGroup::Embedding => "embedding",
        TensorGroup::Output => "output",
        TensorGroup::Attention => "attention",
        TensorGroup::LinearAttention => "linear_attention",
        TensorGroup::Indexer => "indexer",
        TensorGroup::Mlp => "mlp",
        TensorGroup::Experts => "experts",
        TensorGroup::SharedExperts => "shared_experts",
        TensorGroup::Router => "router",
        TensorGroup::Norm => "norm",
        TensorGroup::Vision => "vision",
        TensorGroup::Draft => "draft",
        TensorGroup::Other => "other",
    }
}
