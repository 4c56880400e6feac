//! The questions that can be asked of a case: a closed list, each with its expected answer and the known mistakes.

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use std::fmt;

use super::answer::Wanted;
use super::calendar::Moment;
use super::case::{ChargeKind, MoneyRounding, PartialMonth, TaxOn, Work};
use super::field::{Amount, Code, Every, FromText, Lasting, MonthBasis, Number, from_text};
use super::number::Q;
use super::unit::Quantity;

impl FromText for Wanted {
    const EXPECTING: &'static str = "a quoted answer, as \"3.72\", \"1196/375\", \"no value: zero_accepted\", \"yes\" or \"2027-02-28, 2027-03-31\"";

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }

    fn from_whole(value: u64) -> Option<Self> {
        Some(Self::Is(super::answer::Answer::Number(Q::from_integer(value.into()))))
    }
}
from_text!(Wanted);

/// One question.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Its name.
    pub name: String,
    /// What is asked.
    pub ask: Ask,
    /// The answer.
    #[serde(default)]
    pub expect: Option<Wanted>,
    /// With no value, the lower bound of the priced part.
    #[serde(default)]
    pub at_least: Option<Number>,
    /// Values that known mistakes give.
    #[serde(default)]
    pub wrong: Vec<Wrong>,
    /// How rules are read that the case does not state.
    #[serde(default)]
    pub read: Read,
}

/// A value that a known mistake gives: `("3.702", "minimum applied to the sum")`.
#[derive(Debug, Clone)]
pub struct Wrong {
    /// The value as it was written.
    pub text: String,
    /// The value.
    pub value: Wanted,
    /// The mistake.
    pub mistake: String,
}

impl<'de> Deserialize<'de> for Wrong {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pair;
        impl<'de> Visitor<'de> for Pair {
            type Value = Wrong;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a wrong value with its mistake, as (\"3.702\", \"minimum applied to the sum\")")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Wrong, A::Error> {
                let text: String = seq.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
                let mistake: String = seq.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
                let value = Wanted::parse(&text).map_err(de::Error::custom)?;
                Ok(Wrong { text, value, mistake })
            }
        }
        deserializer.deserialize_tuple(2, Pair)
    }
}

/// How a question reads rules that the case leaves open.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Read {
    /// How long a month is.
    pub month: Option<MonthBasis>,
    /// Whether a month that is only begun is charged in full.
    pub partial_month: Option<PartialMonth>,
    /// GB in a TB.
    pub tb: Option<u32>,
    /// Whether tax is on the sum or on each line.
    pub tax: Option<TaxOn>,
    /// Whether tax is given back.
    pub reclaimable: Option<bool>,
}

/// Which book an amount is from. They have no sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// What it cost the work.
    #[default]
    Accrual,
    /// What was paid.
    Cash,
}

/// Which part of an amount and its tax is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaxPart {
    /// With the tax that is due in the book: all of it in cash, in accrual what is not given back.
    #[default]
    Due,
    /// Without tax.
    Net,
    /// With all tax.
    Gross,
    /// The tax alone.
    Only,
}

/// What an amount is summed from where no name is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Components and commitments.
    Plan,
    /// Lines of the bill.
    Bill,
    /// Both.
    Both,
}

/// Which stage of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuantityStage {
    /// As metered.
    Metered,
    /// After step, minimum and interruption.
    Rounded,
    /// After what is free and a cap on hours.
    #[default]
    Billed,
}

/// What a share is measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Billed time.
    #[default]
    Time,
    /// Amount.
    Amount,
}

/// A view on amounts that are already counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Spans tagged idle.
    Idle,
    /// Spans tagged lost, and the restarts after them.
    Lost,
    /// Spans tagged restart.
    Restart,
    /// The unused part of commitments.
    Unused,
    /// What a spend commitment charged at its end.
    Shortfall,
    /// The cost of outputs that were not good enough.
    Rejected,
    /// The cost of attempts that ended in an error.
    Failed,
    /// The cost of attempts after the first.
    Retries,
    /// The cost of outputs outside a limit.
    OutsideSlo,
}

/// Part of a commitment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitmentPart {
    /// Used and unused together.
    Total,
    /// The used part.
    Used,
    /// The unused part.
    Unused,
    /// The unused part of the whole.
    UnusedShare,
    /// The used part of the whole.
    UsedShare,
    /// The whole for an hour of the term.
    PerHour,
    /// The fee at the end of a spend commitment.
    Shortfall,
    /// What was paid.
    Cash,
}

/// What is looked for between two plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Find {
    /// The first number of units at which they cost the same.
    #[default]
    Crossing,
    /// All of them.
    Crossings,
    /// How many there are.
    Count,
    /// The first whole number of units at which the second plan costs less.
    FirstWhole,
    /// The first crossing as a share of `limit`.
    Utilisation,
    /// Whether the first crossing is within one machine of the second plan.
    WithinCapacity,
    /// What the second plan saves at `at` units, or at `limit`.
    Saving,
    /// The cheaper plan at `at` units.
    Cheaper,
}

/// Which block price is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Best {
    /// The cheapest length alone.
    #[default]
    Single,
    /// The cheapest mix of lengths.
    Mix,
}

/// Part of a hybrid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HybridPart {
    /// The base load.
    Base,
    /// The peaks.
    Peaks,
    /// Both.
    #[default]
    Total,
    /// Everything by the plan of the peaks.
    AllPeaks,
    /// Everything by the plan of the base.
    AllBase,
}

/// What is held against what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reconcile {
    /// Bill minus plan.
    Variance,
    /// What the bill has that nobody planned.
    Unplanned,
    /// What was planned and is not on the bill.
    Unbilled,
    /// Bill minus what was handed on.
    Idle,
}

/// Part of a prepaid account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WalletPart {
    /// What was used.
    Cost,
    /// What was paid in.
    Cash,
    /// What is left.
    Closing,
    /// How many times the rule paid in by itself.
    AutomaticTopUps,
}

macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            /// Components, commitments, charges and buckets; all where none is named.
            pub of: Vec<String>,
            /// Resources; all where none is named.
            pub resources: Vec<String>,
            /// States; all where none is named.
            pub states: Vec<String>,
            /// Parts of the work; all where none is named.
            pub work: Vec<Work>,
            /// Attempts; all where none is named.
            pub attempts: Vec<u32>,
            /// Kinds of bill lines; all where none is named.
            pub kinds: Vec<ChargeKind>,
            /// First instant.
            pub from: Option<Moment>,
            /// First instant after it.
            pub to: Option<Moment>,
            /// A local day, as "2026-10-25".
            pub day: Option<String>,
            /// A local month, as "2026-10".
            pub month: Option<String>,
            /// Zone of day, month and local instants.
            pub zone: Option<String>,
            /// Which book.
            pub basis: Basis,
            /// What is summed where no name is given.
            pub source: Option<Origin>,
            /// Which part of the tax.
            pub tax: TaxPart,
            /// The currency of the answer; each amount is converted at the rate of its day.
            pub currency: Option<Code>,
            /// Rounding of the answer.
            pub round: Option<MoneyRounding>,
            /// Rounding of each line before the sum.
            pub round_each: Option<MoneyRounding>,
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            /// What is chosen, without what else the question says.
            #[must_use]
            pub fn chosen(&self) -> Amounts {
                Amounts {
                    of: self.of.clone(),
                    resources: self.resources.clone(),
                    states: self.states.clone(),
                    work: self.work.clone(),
                    attempts: self.attempts.clone(),
                    kinds: self.kinds.clone(),
                    from: self.from.clone(),
                    to: self.to.clone(),
                    day: self.day.clone(),
                    month: self.month.clone(),
                    zone: self.zone.clone(),
                    basis: self.basis,
                    source: self.source,
                    tax: self.tax,
                    currency: self.currency,
                    round: self.round,
                    round_each: self.round_each,
                }
            }
        }
    )*};
}

questions! {
    /// An amount.
    Amounts {}
    /// A quantity in a unit.
    QuantityOf {
        /// The unit of the answer.
        unit: String,
        /// Which stage.
        stage: QuantityStage,
    }
    /// An amount over what came out.
    UnitCost {
        /// The outcome it is divided by, with a number before it: "accepted", "million output_tokens".
        per: String,
        /// Only outcomes of this kind.
        what: String,
    }
    /// The chosen part of the same thing without states, work and attempts.
    ShareOf {
        /// What it is measured by.
        by: By,
    }
    /// A view on amounts already counted.
    Diagnostic {
        /// Which view.
        view: Option<View>,
        /// Only outcomes of this kind.
        what: String,
        /// As a share of the amount.
        share: bool,
    }
}

/// How many of something came out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountOf {
    /// Which outcome.
    pub of: String,
    /// Only outcomes of this kind.
    #[serde(default)]
    pub what: String,
    /// Resources; all where none is named.
    #[serde(default)]
    pub resources: Vec<String>,
}

/// A part of a commitment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitmentOf {
    /// Its name.
    pub id: String,
    /// Which part.
    pub part: CommitmentPart,
    /// First instant.
    #[serde(default)]
    pub from: Option<Moment>,
    /// First instant after it.
    #[serde(default)]
    pub to: Option<Moment>,
    /// A local day.
    #[serde(default)]
    pub day: Option<String>,
    /// A local month.
    #[serde(default)]
    pub month: Option<String>,
    /// Zone of day, month and local instants.
    #[serde(default)]
    pub zone: Option<String>,
}

/// Two plans held against each other.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreakEven {
    /// The plan at hand and the one that may be cheaper.
    pub between: (String, String),
    /// What is looked for.
    #[serde(default)]
    pub find: Find,
    /// All the units that there are: hours of the month or the term.
    #[serde(default)]
    pub limit: Option<Quantity>,
    /// How many units.
    #[serde(default)]
    pub at: Option<Quantity>,
    /// Crossings beyond this are not looked for.
    #[serde(default)]
    pub up_to: Option<Quantity>,
}

/// What a plan costs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanCost {
    /// The plan.
    pub plan: String,
    /// How many units.
    #[serde(default)]
    pub at: Option<Quantity>,
    /// All the units that there are.
    #[serde(default)]
    pub limit: Option<Quantity>,
    /// As the cost of one unit.
    #[serde(default)]
    pub per_unit: bool,
}

/// What a need of time costs by a plan's blocks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// The plan.
    pub plan: String,
    /// How long it is needed.
    pub need: Lasting,
    /// Hours of each day, where it is not all of them.
    #[serde(default)]
    pub each_day: Option<Lasting>,
    /// Only blocks of this length.
    #[serde(default)]
    pub only: Option<Lasting>,
    /// The cheapest length alone, or the cheapest mix.
    #[serde(default)]
    pub best: Best,
}

/// A base load by one plan and its peaks by another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HybridOf {
    /// The plan of the base; its `fixed` is for each step of the demand.
    pub base: String,
    /// The plan of the peaks.
    pub peaks: String,
    /// Units in each step of time.
    pub demand: Vec<Number>,
    /// Machines of the base.
    #[serde(default)]
    pub machines: Option<Number>,
    /// Which part.
    #[serde(default)]
    pub part: HybridPart,
}

/// An amount in another currency.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convert {
    /// The amount.
    pub amount: Amount,
    /// The other currency.
    pub to: Code,
    /// On which day.
    #[serde(default)]
    pub on: Option<Moment>,
    /// Rounding of the answer.
    #[serde(default)]
    pub round: Option<MoneyRounding>,
}

/// Dates of renewal.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renewals {
    /// The first day of the term.
    pub from: Moment,
    /// How long a term is.
    pub every: Every,
    /// How many renewals.
    pub count: u32,
}

/// Plan against bill.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReconcileOf {
    /// Which difference.
    pub part: Reconcile,
    /// Only this bucket.
    #[serde(default)]
    pub bucket: Option<String>,
}

/// A prepaid account.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalletOf {
    /// Which part.
    pub part: WalletPart,
}

/// What is asked.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(clippy::large_enum_variant, reason = "a case holds a handful of questions")]
pub enum Ask {
    /// An amount.
    Amount(Amounts),
    /// The tax alone.
    Tax(Amounts),
    /// A quantity in a unit.
    Quantity(QuantityOf),
    /// An amount over what came out.
    UnitCost(UnitCost),
    /// A share.
    Share(ShareOf),
    /// A view on amounts already counted.
    Diagnostic(Diagnostic),
    /// How many came out.
    Count(CountOf),
    /// A part of a commitment.
    Commitment(CommitmentOf),
    /// Two plans held against each other.
    BreakEven(BreakEven),
    /// What a plan costs.
    PlanCost(PlanCost),
    /// Blocks of time.
    Blocks(Blocks),
    /// Base load and peaks.
    Hybrid(HybridOf),
    /// Another currency.
    Convert(Convert),
    /// Dates of renewal.
    Renewals(Renewals),
    /// Plan against bill.
    Reconcile(ReconcileOf),
    /// A prepaid account.
    Wallet(WalletOf),
    /// The sum of answers, refused where something would be counted twice.
    SumOf(Vec<String>),
}
