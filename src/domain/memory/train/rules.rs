//! The two tables behind the training model: constants with their range and reason, and words that state a setting.

use std::sync::LazyLock;

use crate::domain::memory::Band;

const RULES: &str = include_str!("../../../../assets/memory/train_rules.csv");
const KEYWORDS: &str = include_str!("../../../../assets/memory/train_keywords.csv");

/// One constant of the table, by name; `low..=high` is what versions and settings that are not stated make of it.
///
/// Every name is held by a test, so a missing one cannot happen; it would count as nothing.
pub(super) fn rule(name: &str) -> Band {
    static TABLE: LazyLock<Vec<(String, Band)>> = LazyLock::new(|| read_rules(RULES));
    TABLE.iter().find(|(key, _)| key == name).map_or(Band::ZERO, |(_, band)| *band)
}

fn read_rules(text: &str) -> Vec<(String, Band)> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let number = |record: &csv::StringRecord, idx: usize| record.get(idx).and_then(|cell| cell.parse::<f64>().ok());
    reader
        .records()
        .flatten()
        .filter_map(|record| {
            let band = Band::new(number(&record, 1)?, number(&record, 2)?, number(&record, 3)?);
            Some((record.get(0)?.to_owned(), band))
        })
        .collect()
}

/// What a word in a row's text says about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lever {
    OptimizerInBackward,
    Compiled,
    LossChunked,
    LossFused,
    LossLinear,
    ActivationsOffloaded,
    OptimizerOffloaded,
    ParametersOffloaded,
    Paged8bit,
    Adam8bit,
    Packed,
    Padded,
    Checkpointed,
    BaseInt4Groups,
    KbitNotPrepared,
    EagerAttention,
    Native16bit,
    ShardingByParameter,
    Since202408,
    PreferencePairs,
    Autocast,
    Cumulative,
    Nothing,
}

const LEVERS: &[(&str, Lever)] = &[
    ("optimizer_in_backward", Lever::OptimizerInBackward),
    ("compiled", Lever::Compiled),
    ("loss_chunked", Lever::LossChunked),
    ("loss_fused", Lever::LossFused),
    ("loss_linear", Lever::LossLinear),
    ("activations_offloaded", Lever::ActivationsOffloaded),
    ("optimizer_offloaded", Lever::OptimizerOffloaded),
    ("parameters_offloaded", Lever::ParametersOffloaded),
    ("paged_8bit", Lever::Paged8bit),
    ("adam_8bit", Lever::Adam8bit),
    ("packed", Lever::Packed),
    ("padded", Lever::Padded),
    ("checkpointed", Lever::Checkpointed),
    ("base_int4_groups", Lever::BaseInt4Groups),
    ("kbit_not_prepared", Lever::KbitNotPrepared),
    ("eager_attention", Lever::EagerAttention),
    ("native_16bit", Lever::Native16bit),
    ("sharding_by_parameter", Lever::ShardingByParameter),
    ("since_2024_08", Lever::Since202408),
    ("preference_pairs", Lever::PreferencePairs),
    ("autocast", Lever::Autocast),
    ("cumulative", Lever::Cumulative),
    ("nothing", Lever::Nothing),
];

struct Keyword {
    word: String,
    columns: Vec<String>,
    lever: Lever,
    ladder: Option<u32>,
}

fn keywords() -> &'static [Keyword] {
    static TABLE: LazyLock<Vec<Keyword>> = LazyLock::new(|| {
        let mut reader = csv::Reader::from_reader(KEYWORDS.as_bytes());
        reader
            .records()
            .flatten()
            .filter_map(|record| {
                let lever = LEVERS.iter().find(|(name, _)| Some(*name) == record.get(2))?.1;
                Some(Keyword {
                    word: record.get(0)?.to_owned(),
                    columns: record.get(1)?.split(' ').map(str::to_owned).collect(),
                    lever,
                    ladder: record.get(3).and_then(|step| step.parse().ok()),
                })
            })
            .collect()
    });
    &TABLE
}

/// Everything that the words of a row state. `text` gives a column's text, or nothing.
///
/// Where a row says that it includes all earlier steps of a list, the steps before the last one named are on too.
pub(super) fn levers(text: impl Fn(&str) -> Option<String>) -> Vec<Lever> {
    let mut found = Vec::new();
    let mut last_step = 0;
    for keyword in keywords() {
        let says = |column: &String| text(column).is_some_and(|cell| cell.to_lowercase().contains(&keyword.word));
        if keyword.columns.iter().any(says) {
            found.push(keyword.lever);
            last_step = last_step.max(keyword.ladder.unwrap_or(0));
        }
    }
    if found.contains(&Lever::Cumulative) {
        let earlier = keywords().iter().filter(|keyword| keyword.ladder.is_some_and(|step| step < last_step));
        found.extend(earlier.map(|keyword| keyword.lever));
    }
    if found.contains(&Lever::Padded) {
        found.retain(|lever| *lever != Lever::Packed);
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_is_asked_for_exists() {
        let sources = [include_str!("mod.rs"), include_str!("size.rs"), include_str!("row.rs")];
        let mut asked = 0;
        for source in sources {
            for part in source.split("rule(\"").skip(1) {
                let name = part.split('"').next().unwrap();
                assert!(rule(name).high > 0.0, "{name}");
                asked += 1;
            }
        }
        assert!(asked > 20);
    }

    #[test]
    fn the_tables_are_whole() {
        let mut reader = csv::Reader::from_reader(RULES.as_bytes());
        let rows = reader.records().map(|record| record.unwrap()).collect::<Vec<_>>();
        assert_eq!(rows.len(), read_rules(RULES).len());
        for row in rows {
            let [value, low, high] = [1, 2, 3].map(|idx| row[idx].parse::<f64>().unwrap());
            assert!(0.0 <= low && low <= value && value <= high, "{row:?}");
            assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        }
        let lines = csv::Reader::from_reader(KEYWORDS.as_bytes()).records().count();
        assert_eq!(lines, keywords().len(), "a keyword without a known lever");
    }

    #[test]
    fn a_cumulative_list_turns_earlier_steps_on() {
        let text = |column: &str| (column == "note").then(|| "cumulative ladder: +optimizer in backward".to_owned());
        let got = levers(text);
        for lever in [Lever::Packed, Lever::Compiled, Lever::LossChunked, Lever::OptimizerInBackward] {
            assert!(got.contains(&lever), "{lever:?}");
        }
        assert!(!got.contains(&Lever::ActivationsOffloaded));
        assert_eq!(
            levers(|column| (column == "note").then(|| "Optimizer in backward".to_owned())),
            [Lever::OptimizerInBackward]
        );
    }
}
