//! The cost engine: exact amounts out of components, what happened, and the rules between them.
//!
//! A [`Case`] says what a price list says (components with rates, units, drivers, states, steps, tiers, allowances, caps,
//! commitments, tax), what happened (resources with sessions, meters, bills, outcomes), and asks questions. The order of
//! calculation is: states → sessions → metered quantity → step and minimum → allowance → tiers → rate → floor and cap →
//! shares of components → commitments → tax → rounding. Everything is a rational from the first digit to the last; it is
//! rounded where the case says that somebody rounds, and nowhere else.
//!
//! What cannot be known is no number: an answer is then "no value" with its reason and, where the rest is priced, a lower
//! bound. Where a rule is not stated, every reading is computed and the answer is the span between them.

mod answer;
mod ask;
mod basis;
mod calendar;
mod case;
mod count;
mod field;
mod ledger;
mod meter;
mod number;
mod offer;

pub(super) mod plan;
mod price;
mod question;
mod sum;
mod unit;
mod wallet;
mod world;

pub use answer::{Answer, NoValue, Wanted, Why};
pub use basis::{Accrual, Cash, Diagnostic as DiagnosticAmount};
pub use calendar::Moment;
pub use case::*;
pub use field::{
    Amount, Code, Count, Every, FromText, Lasting, MonthBasis, Number, Per, Price, RateText, UnitOf, Written,
};
pub use number::{Q, RoundMode, show as exact_text};

pub use offer::{OfferMonth, Overlap, month_of_offer};
pub use question::*;
pub use unit::{Quantity, Sizes, Thing, Time, Unit};

use ron::extensions::Extensions;

/// Why a case cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {text}")]
pub struct CaseError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub text: String,
}

/// A question with its answer.
#[derive(Debug, Clone)]
pub struct Answered {
    /// Its name.
    pub name: String,
    /// The answer.
    pub answer: Answer,
    /// Why the answer is not the expected one; `None` when it is.
    pub differs: Option<Differs>,
}

/// What an answer has against what its question says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Differs {
    /// Another answer was expected.
    Expected(Wanted),
    /// Another lower bound was expected.
    AtLeast(Q),
    /// It is what this known mistake gives.
    Mistake(String),
}

/// A case with its answers.
#[derive(Debug, Clone)]
pub struct Outcomes {
    /// The case's name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its questions in order.
    pub answers: Vec<Answered>,
}

impl Outcomes {
    /// Whether every answer is the expected one.
    #[must_use]
    pub fn agree(&self) -> bool {
        self.answers.iter().all(|one| one.differs.is_none())
    }
}

/// Reads a case and checks it: names, tiers, instants, periods.
///
/// # Errors
/// What is wrong, with its line and column.
pub fn read_case(text: &str) -> Result<Case, CaseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options =
        ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES);
    let case: Case = options.from_str(text).map_err(|error| CaseError {
        line: error.span.start.line,
        column: error.span.start.col,
        text: error.code.to_string(),
    })?;
    match world::World::of(&case) {
        Ok(_) => Ok(case),
        Err(fault) => Err(located(text, &fault)),
    }
}

/// Answers every question of a case.
///
/// # Errors
/// As [`read_case`], without a line where the case was not read from a text.
pub fn answer(case: &Case) -> Result<Outcomes, CaseError> {
    let world = world::World::of(case).map_err(|fault| located("", &fault))?;
    let answers = ask::Answers::of(&world);
    let answered = case.questions.iter().map(|question| {
        let answer = answers.answer(question);
        Answered { name: question.name.clone(), differs: differs(question, &answer), answer }
    });
    Ok(Outcomes { id: case.id.clone(), title: case.title.clone(), answers: answered.collect() })
}

fn differs(question: &Question, answer: &Answer) -> Option<Differs> {
    if let Some(want) = question.expect.as_ref().filter(|want| !want.is_met(answer)) {
        return Some(Differs::Expected(want.clone()));
    }
    if let Some(least) = &question.at_least {
        let got = if let Answer::None(none) = answer { none.at_least.as_ref() } else { None };
        if got != Some(&least.0) {
            return Some(Differs::AtLeast(least.0.clone()));
        }
    }
    let wrong = question.wrong.iter().find(|wrong| wrong.value.is_shown(answer))?;
    Some(Differs::Mistake(wrong.mistake.clone()))
}

/// The place of a fault: where the text that it is about first stands in quotes.
fn located(text: &str, fault: &world::Fault) -> CaseError {
    let quoted = format!("\"{}\"", fault.needle);
    let at = text.find(&quoted).or_else(|| text.find(&fault.needle)).unwrap_or(0);
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    CaseError { line, column, text: fault.text.clone() }
}
