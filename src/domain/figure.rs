//! A derived number with everything it stands on, or the gap that keeps it from existing.

use serde::{Deserialize, Serialize};

use super::ids::EvidenceId;

/// The four origins a number can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// Somebody said so: a price, a promise, a field of the brief.
    Declared,
    /// A model says so.
    Predicted,
    /// It was measured; evidence holds it.
    Measured,
    /// Computed from other numbers; filled mark if any of them is measured.
    Derived {
        /// Whether at least one input is measured.
        from_measured: bool,
    },
}

/// One input of a figure, as the trace shows it. Inputs nest: an input can be derived itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The name used in the formula, language-neutral snake case ("requests_month"); `Text::trace` has the words.
    pub name: &'static str,
    /// The value as text, rounded for display.
    pub value: String,
    /// The unit, or empty.
    pub unit: String,
    /// Where the value comes from.
    pub origin: Origin,
    /// Records it stands on.
    pub evidence: Vec<EvidenceId>,
    /// Formula of a derived input, or empty.
    pub formula: &'static str,
    /// What it was computed from.
    pub inputs: Vec<Input>,
}

impl Input {
    /// An input without inputs of its own.
    #[must_use]
    pub fn leaf(name: &'static str, value: impl Into<String>, unit: impl Into<String>, origin: Origin) -> Self {
        Self {
            name,
            value: value.into(),
            unit: unit.into(),
            origin,
            evidence: Vec::new(),
            formula: "",
            inputs: Vec::new(),
        }
    }

    /// The same input standing on these records.
    #[must_use]
    pub fn on(mut self, evidence: impl IntoIterator<Item = EvidenceId>) -> Self {
        self.evidence = evidence.into_iter().collect();
        self
    }
}

/// A value with its origin, formula and the records it stands on.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure<T> {
    /// The value, exact where its type is exact.
    pub value: T,
    /// 95 % interval, where one can be given.
    pub interval: Option<(T, T)>,
    /// Where it comes from.
    pub origin: Origin,
    /// The formula, with the names of `inputs`.
    pub formula: &'static str,
    /// What went in.
    pub inputs: Vec<Input>,
    /// Every record below it, without doubles, in the order met.
    pub evidence: Vec<EvidenceId>,
}

impl<T> Figure<T> {
    /// A declared value: no formula, no evidence.
    #[must_use]
    pub fn declared(value: T) -> Self {
        Self { value, interval: None, origin: Origin::Declared, formula: "", inputs: Vec::new(), evidence: Vec::new() }
    }

    /// A value derived from `inputs`; origin and evidence follow from them.
    #[must_use]
    pub fn derived(value: T, formula: &'static str, inputs: Vec<Input>) -> Self {
        let mut evidence = Vec::new();
        collect_evidence(&inputs, &mut evidence);
        let from_measured = any_measured(&inputs);
        Self { value, interval: None, origin: Origin::Derived { from_measured }, formula, inputs, evidence }
    }

    /// A measured value standing on `evidence`.
    #[must_use]
    pub fn measured(value: T, evidence: Vec<EvidenceId>) -> Self {
        Self { value, interval: None, origin: Origin::Measured, formula: "", inputs: Vec::new(), evidence }
    }

    /// A value a model predicts from `inputs`.
    #[must_use]
    pub fn predicted(value: T, formula: &'static str, inputs: Vec<Input>) -> Self {
        let mut evidence = Vec::new();
        collect_evidence(&inputs, &mut evidence);
        Self { value, interval: None, origin: Origin::Predicted, formula, inputs, evidence }
    }

    /// The same figure with its 95 % interval.
    #[must_use]
    pub fn within(mut self, low: T, high: T) -> Self {
        self.interval = Some((low, high));
        self
    }

    /// The figure with its value and interval changed by `f`; origin, formula and evidence stay.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Figure<U> {
        Figure {
            value: f(self.value),
            interval: self.interval.map(|(low, high)| (f(low), f(high))),
            origin: self.origin,
            formula: self.formula,
            inputs: self.inputs,
            evidence: self.evidence,
        }
    }
}

fn collect_evidence(inputs: &[Input], out: &mut Vec<EvidenceId>) {
    for input in inputs {
        for id in &input.evidence {
            if !out.contains(id) {
                out.push(id.clone());
            }
        }
        collect_evidence(&input.inputs, out);
    }
}

fn any_measured(inputs: &[Input]) -> bool {
    inputs.iter().any(|input| {
        matches!(input.origin, Origin::Measured | Origin::Derived { from_measured: true })
            || any_measured(&input.inputs)
    })
}

/// What is missing for a value. The words come from `Text::gap`; `values` fill their placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// What kind of thing is missing.
    pub kind: GapKind,
    /// Values for the placeholders of its words, by name.
    pub values: Vec<(&'static str, String)>,
}

impl Gap {
    /// A gap without values.
    #[must_use]
    pub fn new(kind: GapKind) -> Self {
        Self { kind, values: Vec::new() }
    }

    /// The same gap with one more value for its words.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.values.push((name, value.to_string()));
        self
    }
}

/// Why a value does not exist. Each has its words in both languages (`gaps` in the text files).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// A field of the brief is empty: `field`.
    BriefField,
    /// A field of the candidate is not stated: `field`.
    NotStated,
    /// No billing component is priced.
    NoPrice,
    /// A component that matters has no price: `component`.
    UnknownPrice,
    /// Two components pay for the same part: `first`, `second`, `part`.
    Overlap,
    /// The terms of a component do not fit its price: `component`.
    TermsUnclear,
    /// A one-off cost without a term to spread it over: `component`.
    NoTerm,
    /// Two currencies in one sum: `first`, `second`.
    TwoCurrencies,
    /// No run at all.
    NoRun,
    /// Only practice or replayed evidence.
    OnlyPractice,
    /// The newest run is invalid: `why`.
    InvalidRun,
    /// The run was made under other limits than the brief's: `what`.
    OtherLimits,
    /// No measured step kept the limits.
    NoStepWithinSlo,
    /// Nothing was accepted: the value is undefined.
    NothingAccepted,
    /// Too few samples: `have`, `need`.
    TooFewSamples,
    /// Events and tokens do not match; the gap between tokens is not measurable.
    NotMeasurable,
    /// No evidence of this kind: `what`.
    NoEvidence,
    /// The limit is not set, so goodput cannot be counted.
    NoSlo,
}

/// A figure, or why there is none.
pub type Answer<T> = Result<Figure<T>, Gap>;
