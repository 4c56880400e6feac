//! What deviates in a bill: line, column, text, and what it does to the totals. Nothing is repaired; it is told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Findings of one kind that are told one by one; the rest is counted.
const SHOWN: u64 = 20;
/// Different values of one kind that are told apart.
const MAX_VALUES: usize = 500;
/// The longest text of a cell that a finding shows, in characters.
const MAX_TEXT: usize = 200;

/// A deviation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// The line of the file it stands on, from 1; the first one where it stands on several.
    pub line: u64,
    /// The column, or empty where it concerns the row or the file.
    pub column: String,
    /// The text of the cell, cut behind 200 characters.
    pub text: String,
    /// Values for the words of its effect.
    pub values: Vec<(&'static str, String)>,
    /// How many rows it stands for.
    pub count: u64,
    /// The last line it stands for.
    pub last_line: u64,
    /// Whether it stands for the rest of its kind, behind those told one by one.
    pub is_rest: bool,
}

/// Kinds of deviations. Each has the words of its effect on the totals (`bill_findings` in the text files).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    // The file.
    /// A byte-order mark stands before the first column.
    ByteOrderMark,
    /// The file was UTF-16.
    Utf16,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// Lines with nothing on them.
    BlankLines,
    /// A header and no rows.
    NoRows,
    /// A quote that is never closed.
    OpenQuote,
    /// A quote where none belongs.
    StrayQuote,
    /// The last row ends in the middle: `have`, `want`.
    CutFile,
    /// A row with fewer cells than columns: `have`, `want`.
    TooFewCells,
    /// A row with more cells than columns: `have`, `want`.
    TooManyCells,
    /// A row that looks like the sum of those above it.
    TotalRow,
    /// A record of another kind than the others, which is in no total.
    NotARecord,
    // Columns.
    /// Two columns of one name.
    HeaderTwice,
    /// A known column in another spelling: `name`.
    HeaderSpelling,
    /// A column that the specification does not know and that is not marked as the provider's own.
    ColumnNotInSpec,
    /// Columns that the specification wants and the file lacks.
    ColumnMissing,
    /// A number where a name belongs.
    NumberInTextColumn,
    // Cells.
    /// A word that stands for no value.
    NullWord,
    /// Rows without an amount: `column`.
    NoAmount,
    /// An amount written in another way: `value`.
    NumberForm,
    /// A decimal comma: `value`.
    DecimalComma,
    /// An amount with two readings: `low`, `high`.
    NumberAmbiguous,
    /// An amount that is no number.
    NumberUnreadable,
    /// A quantity or price that is no number.
    QuantityUnreadable,
    /// An amount in another currency than its row says: `mark`, `currency`.
    CurrencyConflict,
    /// No currency is named: `currency` that the other rows name.
    CurrencyMissing,
    /// Something else where a currency belongs.
    CurrencyUnreadable,
    /// A currency that ISO 4217 does not know.
    CurrencyUnknown,
    /// More than one currency: `currencies`.
    MixedCurrencies,
    /// A time without a zone.
    TimeWithoutZone,
    /// A time in another form: `value`.
    TimeForm,
    /// A time that does not exist.
    TimeImpossible,
    /// No time.
    TimeUnreadable,
    /// A period that names its last day: `value`.
    InclusiveEnd,
    /// A period that ends before it starts: `start`.
    PeriodReversed,
    /// A value that the specification does not allow.
    ValueNotInSpec,
    /// One value in two spellings: `other`.
    CaseVariant,
    // Meaning.
    /// A charge outside its billing period: `period`.
    OutsideBillingPeriod,
    /// A correction of another period: `period`.
    CorrectionOfOtherPeriod,
    /// Rows of another billing period: `period`.
    OtherBillingPeriod,
    /// Use with a negative amount.
    NegativeUsage,
    /// Whole numbers in a cost column while the billed amounts are not: `value`, `rows`, `provider`, `billed`.
    CostIntegral,
    /// Price times quantity is not the cost: `price`, `quantity`, `value`.
    PriceMismatch,
    /// The quantity is divided by the block size once too often: `factor`.
    QuantityBlock,
    /// A cost computed with such a quantity: `factor`, `value`.
    CostBlock,
    /// Zero where no value belongs: `effective`.
    ZeroForNull,
    /// A purchase of a commitment that also has an effective cost.
    PurchaseWithEffective,
    /// A purchase charged by use.
    UsageBasedPurchase,
    /// Effective cost without billed cost: `issuer`, `effective`.
    PaidElsewhere,
    /// A commitment whose purchases and spread cost differ: `purchased`, `spread`.
    CommitmentUnequal,
    /// A row that is the same as an earlier one: `other`.
    IdenticalRow,
    /// Rows that belong to no known kind of component.
    NotMapped,
    /// An amount without billed time.
    BilledWhileStopped,
    /// The sum of the items is not the amount of their contract: `value`.
    ContractRounding,
    /// More values in a grouping than are kept apart: `kept`.
    TooManyValues,
}

/// How findings of a kind are told.
enum Manner {
    /// One by one up to a limit, then counted.
    Each,
    /// Once for each column, with a count.
    Column,
    /// Once for each value of a column, with a count.
    Value,
}

impl FindingKind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Whether something of the file is in no total because of it.
    #[must_use]
    pub const fn leaves_out(self) -> bool {
        matches!(
            self,
            Self::OpenQuote
                | Self::CutFile
                | Self::NotARecord
                | Self::NumberAmbiguous
                | Self::NumberUnreadable
                | Self::MixedCurrencies
        )
    }

    const fn manner(self) -> Manner {
        match self {
            Self::NullWord
            | Self::NoAmount
            | Self::DecimalComma
            | Self::BlankLines
            | Self::NotUtf8
            | Self::TimeWithoutZone
            | Self::TimeForm
            | Self::InclusiveEnd
            | Self::CurrencyMissing
            | Self::NumberInTextColumn => Manner::Column,
            Self::ValueNotInSpec | Self::CaseVariant | Self::CurrencyUnknown | Self::NotMapped => Manner::Value,
            _ => Manner::Each,
        }
    }
}

/// Gathers findings within bounds.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    /// By kind and column, and value where that matters: how many, and which finding counts the rest.
    seen: BTreeMap<(FindingKind, String), (u64, usize)>,
}

impl Findings {
    /// Adds one.
    pub(super) fn add(&mut self, kind: FindingKind, line: u64, column: &str, text: &str) {
        self.add_with(kind, line, column, text, Vec::new);
    }

    /// Adds one with values for its words, which are made only where they are shown.
    pub(super) fn add_with(
        &mut self,
        kind: FindingKind,
        line: u64,
        column: &str,
        text: &str,
        values: impl FnOnce() -> Vec<(&'static str, String)>,
    ) {
        let manner = kind.manner();
        let mut key = column.to_owned();
        if matches!(manner, Manner::Value) && self.seen.len() < MAX_VALUES {
            key.push('\0');
            key.push_str(text);
        }
        let (n, at) = self.seen.entry((kind, key)).or_insert((0, usize::MAX));
        *n += 1;
        let shown = if matches!(manner, Manner::Each) { SHOWN } else { 1 };
        let is_rest = *n == shown + 1 && matches!(manner, Manner::Each);
        if *n <= shown || is_rest {
            *at = self.list.len();
            let (column, text, count) = (column.to_owned(), cut(text), u64::from(!is_rest));
            self.list.push(Finding { kind, line, column, text, values: values(), count, last_line: line, is_rest });
        }
        if *n <= shown {
            return;
        }
        if let Some(finding) = self.list.get_mut(*at) {
            finding.count += 1;
            finding.last_line = line;
        }
    }

    /// Adds one that stands for many rows which were counted elsewhere.
    pub(super) fn counted(
        &mut self,
        kind: FindingKind,
        (line, count): (u64, u64),
        column: &str,
        text: &str,
        values: Vec<(&'static str, String)>,
    ) {
        let (n, at) = self.seen.entry((kind, column.to_owned())).or_insert((0, usize::MAX));
        *n += 1;
        if *n > SHOWN + 1 {
            if let Some(finding) = self.list.get_mut(*at) {
                finding.count += count;
                finding.last_line = finding.last_line.max(line);
            }
            return;
        }
        *at = self.list.len();
        let (column, text, is_rest) = (column.to_owned(), cut(text), *n > SHOWN);
        self.list.push(Finding { kind, line, column, text, values, count, last_line: line, is_rest });
    }

    /// All of them, by line; those of one line in the order in which they were found.
    pub(super) fn done(mut self) -> Vec<Finding> {
        self.list.sort_by_key(|finding| (finding.is_rest, finding.line));
        self.list
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_a_kind_are_told_singly_then_counted() {
        let mut findings = Findings::default();
        for line in 2..1002 {
            findings.add(FindingKind::NegativeUsage, line, "BilledCost", "-1");
            findings.add(FindingKind::DecimalComma, line, "BilledCost", "1,5");
            findings.add(FindingKind::ValueNotInSpec, line, "ServiceCategory", if line % 2 == 0 { "A" } else { "B" });
        }
        let done = findings.done();
        let told: Vec<(u64, u64, u64)> = done
            .iter()
            .filter(|finding| finding.kind == FindingKind::NegativeUsage)
            .map(|finding| (finding.line, finding.count, finding.last_line))
            .collect();
        assert_eq!(told.len(), 21);
        assert_eq!((told[0], told[20]), ((2, 1, 2), (22, 980, 1001)));
        let counts: Vec<u64> = done
            .iter()
            .filter(|finding| finding.kind != FindingKind::NegativeUsage)
            .map(|finding| finding.count)
            .collect();
        assert_eq!(counts, [1000, 500, 500]);
    }
}
