//! Headers of safetensors files and the index that names a model's shards.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::tensors::{ModelTensor, TensorList};
use super::{ModelSource, NoteKind, SourceError, SourceErrorKind, SourceKind};

/// The longest header that is read, bytes; the format's own limit is 100 MB.
const MAX_HEADER: u64 = 100_000_000;
/// The most tensors that are read of one file; the largest published models have 200,000 in all their files.
const MAX_TENSORS: usize = 2_000_000;
/// The most dimensions of a tensor.
const MAX_DIMENSIONS: usize = 16;

/// One entry of a header.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Shape,
    data_offsets: (u64, u64),
}

/// Sizes of dimensions; a list without end is refused while it is read.
struct Shape(Vec<u64>);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sizes;
        impl<'de> Visitor<'de> for Sizes {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("sizes of dimensions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
                let mut sizes = Vec::new();
                while let Some(size) = list.next_element()? {
                    if sizes.len() >= MAX_DIMENSIONS {
                        return Err(serde::de::Error::custom(format!("more than {MAX_DIMENSIONS} dimensions")));
                    }
                    sizes.push(size);
                }
                Ok(Shape(sizes))
            }
        }
        deserializer.deserialize_seq(Sizes)
    }
}

/// Values by tensor name, a bounded number, without the notes of whoever wrote the file.
struct ByName<T>(BTreeMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByName<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = ByName<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tensors by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByName<T>, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    if entries.len() >= MAX_TENSORS {
                        return Err(serde::de::Error::custom(format!("more than {MAX_TENSORS} tensors")));
                    }
                    let entry = map.next_value()?;
                    if entries.insert(name, entry).is_some() {
                        return Err(serde::de::Error::custom("a tensor is named twice"));
                    }
                }
                Ok(ByName(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// Reads the head of a safetensors file.
///
/// # Errors
/// The header's length is absurd, the bytes end before it does, or it is no list of tensors.
pub(super) fn read(bytes: &[u8], file_len: Option<u64>) -> Result<ModelSource, SourceError> {
    let length = bytes.first_chunk::<8>().map(|length| u64::from_le_bytes(*length));
    let Some(length) = length else {
        return Err(SourceError::new(SourceErrorKind::UnknownFile, ""));
    };
    // Any file begins with eight bytes; only a header's brace behind them makes it one of these.
    match bytes.get(8) {
        Some(b'{') => {}
        None if bytes.len() == 8 && length > 1 => {
            return Err(SourceError::new(SourceErrorKind::Cut, length.saturating_add(8).to_string()));
        }
        _ => return Err(SourceError::new(SourceErrorKind::UnknownFile, "")),
    }
    let longest = file_len.map_or(MAX_HEADER, |len| len.saturating_sub(8).min(MAX_HEADER));
    if length > longest {
        return Err(SourceError::new(SourceErrorKind::HeaderTooLong, length.to_string()));
    }
    let end = usize::try_from(length.saturating_add(8)).unwrap_or(usize::MAX);
    let Some(header) = bytes.get(8..end) else {
        return Err(SourceError::new(SourceErrorKind::Cut, length.saturating_add(8).to_string()));
    };
    let room = file_len.map(|len| len.saturating_sub(8).saturating_sub(length));
    build(parse(header)?, room)
}

/// Reads a header that somebody pasted as text.
///
/// # Errors
/// It is no list of tensors.
pub(super) fn read_pasted(text: &[u8]) -> Result<ModelSource, SourceError> {
    build(parse(text)?, None)
}

fn parse(header: &[u8]) -> Result<ByName<Entry>, SourceError> {
    // The format allows blanks behind the object.
    serde_json::from_slice(header.trim_ascii_end())
        .map_err(|error| SourceError::new(SourceErrorKind::BrokenJson, error.to_string()))
}

/// Bits of an element by the format's names.
fn bits(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "F4" => 4,
        "F6_E2M3" | "F6_E3M2" => 6,
        "BOOL" | "U8" | "I8" | "F8_E4M3" | "F8_E5M2" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => 8,
        "I16" | "U16" | "F16" | "BF16" => 16,
        "I32" | "U32" | "F32" => 32,
        "I64" | "U64" | "F64" | "C64" => 64,
        _ => return None,
    })
}

/// Checks every size against the others and against the `room` behind the header.
fn build(header: ByName<Entry>, room: Option<u64>) -> Result<ModelSource, SourceError> {
    if header.0.is_empty() {
        return Err(SourceError::new(SourceErrorKind::NoModel, "no tensors"));
    }
    let mut source = ModelSource::new(SourceKind::Safetensors);
    let mut tensors = Vec::with_capacity(header.0.len());
    let mut fits = true;
    let mut sum = 0_u64;
    for (name, entry) in header.0 {
        let (start, end) = entry.data_offsets;
        let Some(bytes) = end.checked_sub(start) else {
            return Err(SourceError::new(SourceErrorKind::AbsurdSize, &name));
        };
        let dtype = super::short(&entry.dtype);
        let shaped = entry.shape.0.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
        match (bits(&dtype), shaped) {
            (Some(bits), Some(n)) if n.checked_mul(bits).map(|bits| bits.div_ceil(8)) == Some(bytes) => {}
            (Some(_), _) => {
                fits = false;
                source.note(NoteKind::SizesDoNotFit, &name);
            }
            (None, _) => source.note(NoteKind::UnknownFormat, &dtype),
        }
        sum = sum.saturating_add(bytes);
        if room.is_some_and(|room| end > room || sum > room) {
            fits = false;
            source.note(NoteKind::SizesDoNotFit, &name);
        }
        tensors.push(ModelTensor { name: super::short(&name), dtype, shape: entry.shape.0, bytes: Some(bytes) });
    }
    let list = TensorList { tensors, stated_bytes: None, n_files: 1 };
    // One file of several does not tell what the model lacks.
    source.facts = list.facts(list.is_whole());
    // Sizes that contradict each other would make any total wrong.
    if fits {
        source.tensors = Some(list);
    }
    Ok(source)
}

/// An index of shards.
#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    metadata: Option<Metadata>,
    weight_map: ByName<String>,
}

#[derive(Deserialize)]
struct Metadata {
    /// Bytes of all tensors; some writers make it a float.
    #[serde(default)]
    total_size: Option<serde_json::Number>,
}

/// Reads `model.safetensors.index.json`.
///
/// # Errors
/// It is no such index, or names no tensor.
pub(super) fn read_index(text: &[u8]) -> Result<ModelSource, SourceError> {
    let index: Index = serde_json::from_slice(text)
        .map_err(|error| SourceError::new(SourceErrorKind::BrokenJson, error.to_string()))?;
    if index.weight_map.0.is_empty() {
        return Err(SourceError::new(SourceErrorKind::NoModel, "weight_map"));
    }
    let mut source = ModelSource::new(SourceKind::SafetensorsIndex);
    let stated = index.metadata.and_then(|metadata| metadata.total_size);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and within 2^53")]
    let stated_bytes = stated.as_ref().and_then(|size| {
        let float = size.as_f64().filter(|size| size.fract() == 0.0 && (0.0..9e15).contains(size));
        size.as_u64().or(float.map(|size| size as u64)).filter(|bytes| *bytes > 0 && *bytes < 1 << 50)
    });
    match (&stated, stated_bytes) {
        (None, _) => source.note(NoteKind::Lacks, "metadata.total_size"),
        (Some(size), None) => source.note(NoteKind::BadValue, format!("metadata.total_size {size}")),
        (Some(_), Some(_)) => source.note(NoteKind::NamesOnly, ""),
    }
    let mut files: Vec<&str> = index.weight_map.0.values().map(String::as_str).collect();
    files.sort_unstable();
    files.dedup();
    let n_files = files.len();
    let tensors = index
        .weight_map
        .0
        .keys()
        .map(|name| ModelTensor { name: super::short(name), dtype: String::new(), shape: Vec::new(), bytes: None })
        .collect();
    let list = TensorList { tensors, stated_bytes, n_files };
    source.facts = list.facts(true);
    source.tensors = Some(list);
    Ok(source)
}
