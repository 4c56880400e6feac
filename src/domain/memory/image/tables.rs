//! The tables behind the image model: components of published families, constants, number formats, sources.

use std::sync::LazyLock;

use crate::domain::memory::Band;

const COMPONENTS: &str = include_str!("../../../../assets/memory/image_components.csv");
const ALIASES: &str = include_str!("../../../../assets/memory/image_aliases.csv");
const RULES: &str = include_str!("../../../../assets/memory/image_rules.csv");
const FORMATS: &str = include_str!("../../../../assets/memory/image_quantisation.csv");
const SOURCES: &str = include_str!("../../../../assets/memory/image_sources.csv");

/// What a component does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Turns the prompt into embeddings, once.
    Text,
    /// Runs once a step on latents.
    Denoiser,
    /// Turns latents into pixels, at the end.
    Decoder,
}

/// One component of a pipeline. Sizes in elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its name, for people.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// All parameters.
    pub parameters: f64,
    /// Parameters of embeddings, which quantisation leaves alone.
    pub embedding: f64,
    /// Parameters that loaders keep in fp32 in an fp16 model and leave out of quantisation.
    pub kept: f64,
    /// Parameters that layer-wise casting leaves in the computing format.
    pub uncast: f64,
    /// Hidden size; channels of the widest full-resolution convolution of a decoder.
    pub width: f64,
    /// Feed-forward size; zero where there is none.
    pub mlp_width: f64,
    /// Pixels of a token's side.
    pub pixels_per_token: f64,
    /// Prompt tokens.
    pub text_tokens: f64,
    /// Heads of the finest self-attention.
    pub attention_heads: f64,
    /// Pixels of the side of a token of the finest self-attention.
    pub attention_pixels: f64,
    /// Passes a step and image: two with classifier-free guidance.
    pub passes: f64,
    /// Whether the decoder runs in fp32 in an fp16 pipeline.
    pub upcast: bool,
    /// Where the sizes come from.
    pub origin: String,
}

type Family = (String, Vec<Component>);

fn families() -> &'static [Family] {
    static TABLE: LazyLock<Vec<Family>> = LazyLock::new(|| {
        let mut families: Vec<Family> = Vec::new();
        for record in csv::Reader::from_reader(COMPONENTS.as_bytes()).records().flatten() {
            let Some((family, component)) = component(&record) else { continue };
            match families.iter_mut().find(|(name, _)| *name == family) {
                Some((_, components)) => components.push(component),
                None => families.push((family, vec![component])),
            }
        }
        families
    });
    &TABLE
}

fn component(record: &csv::StringRecord) -> Option<(String, Component)> {
    let text = |idx: usize| record.get(idx).map(str::trim).unwrap_or_default();
    let number = |idx: usize| text(idx).parse::<f64>().unwrap_or(0.0);
    let role = match text(2) {
        "text" => Role::Text,
        "denoiser" => Role::Denoiser,
        "decoder" => Role::Decoder,
        _ => return None,
    };
    let component = Component {
        name: text(1).to_owned(),
        role,
        parameters: text(3).parse().ok()?,
        embedding: number(4),
        kept: number(5),
        uncast: number(6),
        width: number(7),
        mlp_width: number(8),
        pixels_per_token: number(9).max(1.0),
        text_tokens: number(10),
        attention_heads: number(11),
        attention_pixels: number(12).max(1.0),
        passes: number(13).max(1.0),
        upcast: text(14) == "true",
        origin: text(15).to_owned(),
    };
    Some((text(0).to_owned(), component))
}

/// The components that a name selects: a family's own name, or one of its published names, whole and without regard to
/// case. A remark in brackets at the end is left out.
#[must_use]
pub fn components(name: &str) -> Option<&'static [Component]> {
    let name = name.split('(').next().unwrap_or_default().trim().to_lowercase();
    let alias = csv::Reader::from_reader(ALIASES.as_bytes()).into_records().flatten().find_map(|record| {
        let is_it = record.get(0).is_some_and(|alias| alias.to_lowercase() == name);
        is_it.then(|| record.get(1).unwrap_or_default().to_owned())
    });
    let family = alias.unwrap_or(name);
    families().iter().find(|(of, _)| *of == family).map(|(_, components)| components.as_slice())
}

/// Names of the families, in the table's order.
#[must_use]
pub fn family_names() -> Vec<&'static str> {
    families().iter().map(|(name, _)| name.as_str()).collect()
}

/// One constant, by name; held by a test.
pub(super) fn rule(name: &str) -> Band {
    static TABLE: LazyLock<Vec<(String, Band)>> = LazyLock::new(|| bands(RULES));
    TABLE.iter().find(|(key, _)| key == name).map_or(Band::ZERO, |(_, band)| *band)
}

/// Bytes of one weight in the format that a text names; the first that fits in the table's order.
pub(super) fn format_bytes(text: &str) -> Option<Band> {
    static TABLE: LazyLock<Vec<(String, Band)>> = LazyLock::new(|| bands(FORMATS));
    TABLE.iter().find(|(keyword, _)| text.contains(keyword)).map(|(_, band)| *band)
}

fn bands(text: &str) -> Vec<(String, Band)> {
    let number = |record: &csv::StringRecord, idx: usize| record.get(idx).and_then(|cell| cell.parse::<f64>().ok());
    csv::Reader::from_reader(text.as_bytes())
        .records()
        .flatten()
        .filter_map(|record| {
            let band = Band::new(number(&record, 1)?, number(&record, 2)?, number(&record, 3)?);
            Some((record.get(0)?.to_owned(), band))
        })
        .collect()
}

/// What is known of a publication's figures: the unit ("GB", "GiB"), and whether they are what stays on the GPU after a
/// run instead of the peak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Unit, where it is known.
    pub unit: Option<String>,
    /// Whether the figures are resident memory.
    pub resident: bool,
    /// Why that is known.
    pub reason: String,
}

/// What is known of the publication that an origin names.
#[must_use]
pub fn source(origin: &str) -> Option<Source> {
    let origin = origin.to_lowercase();
    csv::Reader::from_reader(SOURCES.as_bytes()).into_records().flatten().find_map(|record| {
        let keyword = record.get(0)?;
        origin.contains(keyword).then(|| Source {
            unit: record.get(1).filter(|unit| !unit.is_empty()).map(str::to_owned),
            resident: record.get(2) == Some("resident"),
            reason: record.get(3).unwrap_or_default().to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_is_asked_for_exists() {
        let mut asked = 0;
        for source in [include_str!("mod.rs"), include_str!("row.rs")] {
            for part in source.split("rule(\"").skip(1) {
                let name = part.split('"').next().unwrap();
                assert!(rule(name).high > 0.0, "{name}");
                asked += 1;
            }
        }
        assert!(asked > 12, "{asked}");
    }

    #[test]
    fn families_are_whole_and_aliases_lead_to_them() {
        for (name, components) in families() {
            for role in [Role::Text, Role::Denoiser, Role::Decoder] {
                assert!(components.iter().any(|component| component.role == role), "{name}: {role:?}");
            }
            for part in components {
                assert!(part.parameters > part.embedding + part.kept + part.uncast, "{name}: {}", part.name);
                assert!(part.width > 0.0 && !part.origin.is_empty(), "{name}: {}", part.name);
            }
        }
        for record in csv::Reader::from_reader(ALIASES.as_bytes()).into_records() {
            let record = record.unwrap();
            assert!(components(&record[0]).is_some(), "{record:?}");
        }
        let lines = csv::Reader::from_reader(COMPONENTS.as_bytes()).records().count();
        assert_eq!(families().iter().map(|(_, components)| components.len()).sum::<usize>(), lines);
        assert!(components("SDXL base 1.0 (inferred)").is_some());
        assert!(components("a fine-tune nobody knows").is_none());
    }
}
