//! What the work came to: outcomes counted, checked against each other, and derived where one follows from two others.

use num_traits::{One as _, Zero as _};

use super::answer::{NoValue, Why};
use super::calendar::Span;
use super::case::{Case, Outcome};
use super::field::Count;
use super::ledger::share_of;
use super::number::{Q, show};
use super::world::{Fault, World};

/// Names of what can be counted.
pub(super) const NAMES: [&str; 13] = [
    "attempted",
    "completed",
    "accepted",
    "within_slo",
    "rejected",
    "outside_slo",
    "failed",
    "retries",
    "input_tokens",
    "cached_tokens",
    "uncached_tokens",
    "output_tokens",
    "total_tokens",
];

/// Refuses outcomes that contradict each other.
pub(super) fn check(case: &Case) -> Result<(), Fault> {
    for (nth, one) in case.outcomes.iter().enumerate() {
        let order = [
            ("completed", &one.completed, "attempted", &one.attempted),
            ("within_slo", &one.within_slo, "completed", &one.completed),
            ("accepted", &one.accepted, "completed", &one.completed),
            ("accepted", &one.accepted, "attempted", &one.attempted),
            ("failed", &one.failed, "attempted", &one.attempted),
            ("cached_tokens", &one.cached_tokens, "input_tokens", &one.input_tokens),
            ("uncached_tokens", &one.uncached_tokens, "input_tokens", &one.input_tokens),
        ];
        for (part, less, whole, more) in order {
            if let (Some(less), Some(more)) = (less, more)
                && less.is_rate == more.is_rate
                && less.number > more.number
            {
                return Err(Fault::new(
                    "outcomes",
                    format!(
                        "outcome {}: {part} ({}) is above {whole} ({})",
                        nth + 1,
                        show(&less.number),
                        show(&more.number)
                    ),
                ));
            }
        }
        if let (Some(input), Some(cached), Some(uncached)) =
            (&one.input_tokens, &one.cached_tokens, &one.uncached_tokens)
            && input.number != &cached.number + &uncached.number
        {
            return Err(Fault::new(
                "outcomes",
                format!("outcome {}: cached and uncached tokens are not the input", nth + 1),
            ));
        }
    }
    Ok(())
}

/// How many of `what` one outcome has.
pub(super) fn of_one(world: &World<'_>, idx: usize, what: &str) -> Result<Q, NoValue> {
    let not_recorded = || NoValue::new(Why::NotRecorded, what);
    let one = world.case.outcomes.get(idx).ok_or_else(not_recorded)?;
    let stated = |count: &Option<Count>| count.as_ref().map(|count| number(world, idx, one, count)).transpose();
    let minus = |more: Option<Q>, less: Option<Q>| more.zip(less).map(|(more, less)| more - less);
    let (attempted, completed, accepted) = (stated(&one.attempted)?, stated(&one.completed)?, stated(&one.accepted)?);
    let (input, cached, uncached) =
        (stated(&one.input_tokens)?, stated(&one.cached_tokens)?, stated(&one.uncached_tokens)?);
    let output = stated(&one.output_tokens)?;
    let plus = |a: Option<Q>, b: Option<Q>| a.zip(b).map(|(a, b)| a + b);
    let input = || input.clone().or_else(|| plus(uncached.clone(), cached.clone()));
    let value = match what {
        "attempted" => attempted.clone(),
        // Where nobody counted errors, nothing failed that is known.
        "completed" => completed.or_else(|| minus(attempted, stated(&one.failed).ok().flatten())),
        "accepted" => accepted.clone(),
        "within_slo" => stated(&one.within_slo)?,
        "rejected" => stated(&one.rejected)?.or_else(|| minus(completed.or(attempted), accepted)),
        "outside_slo" => minus(completed.or(attempted), stated(&one.within_slo)?),
        "failed" => stated(&one.failed)?.or_else(|| minus(attempted, completed)),
        "retries" => stated(&one.retries)?,
        "input_tokens" => input(),
        "cached_tokens" => cached.clone().or_else(|| minus(input(), uncached.clone())),
        "uncached_tokens" => uncached.clone().or_else(|| minus(input(), cached.clone())),
        "output_tokens" => output.clone(),
        "total_tokens" => plus(input(), output.clone()),
        _ => None,
    };
    value.ok_or_else(not_recorded)
}

/// How many of `what` all outcomes together have, of one kind where `kind` names one, of one resource where one is chosen,
/// in a window where one is asked for. Without any dates all outcomes are those of the window.
pub(super) fn of_all(
    world: &World<'_>,
    what: &str,
    kind: &str,
    resources: &[usize],
    window: Option<Span>,
) -> Result<Q, NoValue> {
    let window = window.filter(|_| world.outcomes.iter().any(|(_, span)| span.is_some()));
    let mut sum: Option<Q> = None;
    for (idx, (one, (resource, _))) in world.case.outcomes.iter().zip(&world.outcomes).enumerate() {
        let is_kind = kind.is_empty() || one.what == kind;
        let is_ours = resources.is_empty() || resource.is_some_and(|resource| resources.contains(&resource));
        if is_kind && is_ours {
            let share =
                window.map(|window| share_of(world.outcomes.get(idx).and_then(|one| one.1), window)).transpose()?;
            let share = share.unwrap_or_else(Q::one);
            if share.is_zero() {
                sum.get_or_insert_with(Q::zero);
                continue;
            }
            if !share.is_one() {
                return Err(NoValue::new(Why::NotRecorded, format!("{what} of a part of an outcome's time")));
            }
            let n = of_one(world, idx, what)?;
            sum = Some(sum.map_or_else(|| n.clone(), |sum| sum + &n));
        }
    }
    sum.ok_or_else(|| NoValue::new(Why::NotRecorded, what))
}

/// Pixels of one output.
pub(super) fn pixels(world: &World<'_>, idx: usize) -> Result<Q, NoValue> {
    let one = world.case.outcomes.get(idx);
    let size = one.and_then(|one| one.width.as_ref().zip(one.height.as_ref()));
    size.map(|(width, height)| &width.number * &height.number)
        .ok_or_else(|| NoValue::new(Why::NotRecorded, "width and height"))
}

/// A count, a rate being multiplied by how long it went on.
fn number(world: &World<'_>, idx: usize, one: &Outcome, count: &Count) -> Result<Q, NoValue> {
    if !count.is_rate {
        return Ok(count.number.clone());
    }
    let (resource, span) = world.outcomes.get(idx).copied().unwrap_or_default();
    let length = match (&one.lasts, span) {
        (Some(lasts), _) => lasts.0.clone(),
        (None, Some(span)) if span.0 < span.1 => super::calendar::secs(span.0, span.1),
        _ => {
            let runs =
                world.runs.iter().enumerate().filter(|(idx, _)| resource.is_none_or(|resource| resource == *idx));
            let parts = runs.flat_map(|(_, runs)| runs).flat_map(|run| &run.parts);
            parts.filter(|part| part.state == "running").fold(Q::zero(), |sum, part| sum + &part.secs)
        }
    };
    if length.is_zero() {
        return Err(NoValue::new(Why::NotRecorded, "how long the rate went on"));
    }
    Ok(&count.number * length)
}
