//! A case with its instants resolved and its names checked: what the engine works on.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Months, TimeDelta, Utc};
use chrono_tz::Tz;
use iso_currency::Currency;
use num_traits::{Signed as _, ToPrimitive as _, Zero as _};

use super::calendar::{At, Moment, Span, secs, zone};
use super::case::{
    Allowance, Case, Commitment, Component, EndedBy, Piece, Resource, Session, SessionFields, Status, Work,
};
use super::field::{Amount, Every, Per, RateText};
use super::number::{Q, show, whole};
use super::unit::{Quantity, Sizes, Thing};

/// What is wrong with a case, and the quoted text by which it is found in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub text: String,
    pub needle: String,
}

impl Fault {
    pub(super) fn new(needle: impl Into<String>, text: impl Into<String>) -> Self {
        Self { text: text.into(), needle: needle.into() }
    }
}

/// A span of a resource in one state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub span: Option<Span>,
    /// Seconds from the first session's start, counting billed and unbilled time alike.
    pub offset: Q,
    pub secs: Q,
    pub state: String,
    pub work: Work,
    pub attempt: Option<u32>,
}

/// One existence of a resource without a break.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub parts: Vec<Part>,
    pub ended_by: EndedBy,
    pub events: BTreeMap<String, At>,
}

/// A rate with its time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rate {
    pub name: String,
    pub amount: Q,
    pub currency: Currency,
    pub per: Per,
    pub from: Option<At>,
    pub until: Option<At>,
}

/// A tier with its bounds in things, or in units of its price.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tier {
    pub from: Option<Quantity>,
    pub up_to: Option<Quantity>,
    pub price: Q,
}

/// A component that can be charged.
#[derive(Debug, Clone)]
pub(super) struct Priced<'a> {
    pub of: &'a Component,
    pub status: Status,
    pub rates: Vec<Rate>,
    pub tiers: Vec<Tier>,
    pub zone: Option<Tz>,
    pub resources: Vec<usize>,
    pub parts: BTreeSet<String>,
    pub exists: (Option<At>, Option<At>),
    pub once_at: Option<At>,
    pub allowance_until: Option<At>,
}

/// A level or a volume that a meter showed.
#[derive(Debug, Clone)]
pub(super) struct Metered<'a> {
    pub meter: &'a str,
    pub resource: Option<usize>,
    pub quantity: &'a Quantity,
    pub span: Option<Span>,
    /// Seconds from the first session's start, for samples without instants.
    pub offset: Option<(Q, Q)>,
}

/// A commitment with its term.
#[derive(Debug, Clone)]
pub(super) struct Committed<'a> {
    pub of: &'a Commitment,
    pub term: Option<Span>,
    pub secs: Q,
    pub rate: Option<Rate>,
    pub upfront: Option<(Q, Currency)>,
    pub spend: Option<(Q, Currency)>,
    pub applies_to: Vec<usize>,
    pub charges: Vec<usize>,
    pub bound_to: Option<usize>,
}

/// A line of a bill.
#[derive(Debug, Clone)]
pub(super) struct Billed {
    pub billed: (Q, Currency),
    pub effective: (Q, Currency),
    pub at: Option<Span>,
    pub during: Option<Span>,
    pub resource: Option<usize>,
}

/// The whole case, resolved.
#[derive(Debug, Clone)]
pub(super) struct World<'a> {
    pub case: &'a Case,
    pub zone: Option<Tz>,
    pub period: Option<Span>,
    pub runs: Vec<Vec<Run>>,
    pub components: Vec<Priced<'a>>,
    pub meters: Vec<Metered<'a>>,
    pub commitments: Vec<Committed<'a>>,
    pub charges: Vec<Billed>,
    pub exchange: Vec<(Option<At>, Currency, Q, Currency)>,
    pub outcomes: Vec<(Option<usize>, Option<Span>)>,
}

/// Repetitions that are written out; more are a slip of the pen.
const MOST_TIMES: u64 = 200_000;

/// A span that is longer than any contract: a century.
const LONGEST_SECS: i64 = 100 * 366 * 86_400;

type Checked<T> = Result<T, Fault>;

impl<'a> World<'a> {
    /// Resolves and checks a case.
    pub(super) fn of(case: &'a Case) -> Checked<Self> {
        let base = Base { case, zone: named_zone(case.zone.as_deref())? };
        unique(
            "component",
            case.components.iter().map(|one| one.id.as_str()).chain(case.commitments.iter().map(|one| one.id.as_str())),
        )?;
        unique("resource", case.resources.iter().map(|one| one.id.as_str()))?;
        unique("question", case.questions.iter().map(|one| one.name.as_str()))?;
        unique("plan", case.plans.iter().map(|one| one.id.as_str()))?;
        unique("charge", case.charges.iter().map(|one| one.id.as_str()).filter(|id| !id.is_empty()))?;
        if case.questions.is_empty() {
            return Err(Fault::new(case.id.as_str(), "the case asks no question"));
        }
        let period = match &case.period {
            Some(period) => Some(base.span(&period.from, &period.to, base.zone)?),
            None => None,
        };
        base.bounded()?;
        let runs = case.resources.iter().map(|resource| base.runs(resource)).collect::<Checked<Vec<_>>>()?;
        let components = case.components.iter().map(|one| base.component(one)).collect::<Checked<Vec<_>>>()?;
        let meters = base.meters()?;
        let commitments = case.commitments.iter().map(|one| base.commitment(one)).collect::<Checked<Vec<_>>>()?;
        let charges = base.charges()?;
        let exchange = case
            .exchange
            .iter()
            .map(|rate| {
                let (is, currency) = base.money(&rate.is.0, rate.one.0.code())?;
                if currency == rate.one.0 || !is.is_positive() {
                    return Err(Fault::new(
                        rate.one.0.code(),
                        "a rate of exchange needs two currencies and an amount above zero",
                    ));
                }
                let on = rate.on.as_ref().map(|on| base.at(on, base.zone_of(on))).transpose()?;
                Ok((on, rate.one.0, is, currency))
            })
            .collect::<Checked<Vec<_>>>()?;
        let outcomes = case
            .outcomes
            .iter()
            .map(|one| {
                let resource = one.resource.as_deref().map(|id| base.resource(id)).transpose()?;
                Ok((
                    resource,
                    base.maybe_span(
                        one.from.as_ref(),
                        one.to.as_ref(),
                        one.from.as_ref().map_or(base.zone, |from| base.zone_of(from)),
                    )?,
                ))
            })
            .collect::<Checked<Vec<_>>>()?;
        super::count::check(case)?;
        if let Some(wallet) = &case.wallet {
            base.money(&wallet.opening, "wallet")?;
            for moment in wallet.top_ups.iter().flat_map(|top_up| top_up.on.iter().chain(&top_up.expires)) {
                base.at(moment, base.zone_of(moment))?;
            }
        }
        let world =
            Self { case, zone: base.zone, period, runs, components, meters, commitments, charges, exchange, outcomes };
        super::ask::check(&world)?;
        Ok(world)
    }

    /// The sizes by which a component's units are read.
    pub(super) fn sizes(component: &Component, tera: u32) -> Sizes {
        let mut sizes = Sizes { tera: component.tb.unwrap_or(tera), ..Sizes::default() };
        if let Some(megapixel) = &component.megapixel {
            sizes.megapixel = megapixel.0.clone();
        }
        sizes
    }

    /// The component with this id.
    pub(super) fn component(&self, id: &str) -> Option<usize> {
        self.case.components.iter().position(|one| one.id == id)
    }

    /// The commitment with this id.
    pub(super) fn commitment(&self, id: &str) -> Option<usize> {
        self.case.commitments.iter().position(|one| one.id == id)
    }

    /// The first two of these components that cover the same part at the same time for the same resource.
    pub(super) fn overlap(&self, chosen: &[usize], window: Option<Span>) -> Option<String> {
        let (first, second, part) = self.overlapping(chosen, window)?;
        let name = |idx: usize| self.components.get(idx).map_or("", |one| one.of.id.as_str());
        Some(format!("\"{}\" and \"{}\" both cover {part}", name(first), name(second)))
    }

    /// The same, by their places, with the part.
    pub(super) fn overlapping(&self, chosen: &[usize], window: Option<Span>) -> Option<(usize, usize, &str)> {
        for (nth, first) in chosen.iter().enumerate() {
            for second in chosen.iter().skip(nth + 1) {
                let (Some(a), Some(b)) = (self.components.get(*first), self.components.get(*second)) else { continue };
                if a.is_inside(b) || b.is_inside(a) || !a.meets(b, window) {
                    continue;
                }
                if let Some(part) = a.parts.intersection(&b.parts).next() {
                    return Some((*first, *second, part.as_str()));
                }
            }
        }
        None
    }
}

impl Priced<'_> {
    /// Whether it can be an amount of its own.
    pub(super) fn counts(&self) -> bool {
        matches!(self.status, Status::Priced | Status::Unknown)
    }

    fn is_inside(&self, other: &Self) -> bool {
        self.of.inside.as_deref() == Some(other.of.id.as_str())
    }

    /// Whether both count for one resource at one time, within the window that is asked for.
    fn meets(&self, other: &Self, window: Option<Span>) -> bool {
        let counts = self.counts() && other.counts();
        let resources = self.resources.is_empty()
            || other.resources.is_empty()
            || self.resources.iter().any(|one| other.resources.contains(one));
        let before =
            |until: Option<At>, from: Option<At>| matches!((until, from), (Some(until), Some(from)) if until <= from);
        let apart = before(self.exists.1, other.exists.0) || before(other.exists.1, self.exists.0);
        let outside = window.is_some_and(|(from, until)| {
            [self, other].iter().any(|one| before(Some(until), one.exists.0) || before(one.exists.1, Some(from)))
        });
        counts && resources && !apart && !outside
    }
}

fn named_zone(name: Option<&str>) -> Checked<Option<Tz>> {
    name.map(|name| zone(name).map_err(|text| Fault::new(name, text))).transpose()
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Checked<()> {
    let mut seen = BTreeSet::new();
    for name in names {
        if name.is_empty() {
            return Err(Fault::new("", format!("a {what} has no name")));
        }
        if !seen.insert(name) {
            return Err(Fault::new(name, format!("two {what}s are named \"{name}\"")));
        }
    }
    Ok(())
}

/// What resolving needs from the case.
struct Base<'a> {
    case: &'a Case,
    zone: Option<Tz>,
}

impl<'a> Base<'a> {
    /// Refuses repetitions that only a slip of the pen can mean.
    fn bounded(&self) -> Checked<()> {
        let sessions = self.case.resources.iter().flat_map(|resource| &resource.sessions);
        let parts = sessions.map(|Session(session)| {
            let pieces = session.pieces.iter().map(|piece| u64::from(piece.0.times.unwrap_or(1))).sum::<u64>();
            u64::from(session.times.unwrap_or(1)).saturating_mul(pieces.max(1))
        });
        let charges = self.case.charges.iter().map(|charge| u64::from(charge.times.unwrap_or(1)));
        let top_ups = self.case.wallet.iter().flat_map(|wallet| &wallet.top_ups);
        let top_ups = top_ups.map(|top_up| u64::from(top_up.times.unwrap_or(1)));
        let total = parts.chain(charges).chain(top_ups).fold(0, u64::saturating_add);
        if total > MOST_TIMES {
            return Err(Fault::new("times", format!("{total} repetitions in all are more than {MOST_TIMES}")));
        }
        Ok(())
    }

    fn at(&self, moment: &Moment, zone: Option<Tz>) -> Checked<At> {
        moment.at(zone).map_err(|text| Fault::new(moment.text.as_str(), text))
    }

    /// The zone of a date that only orders things: UTC where none is stated.
    fn zone_of(&self, moment: &Moment) -> Option<Tz> {
        if moment.date().is_some() { self.zone.or(Some(Tz::UTC)) } else { self.zone }
    }

    fn span(&self, from: &Moment, to: &Moment, zone: Option<Tz>) -> Checked<Span> {
        let span = (self.at(from, zone)?, self.at(to, zone)?);
        if span.1 < span.0 {
            return Err(Fault::new(
                to.text.as_str(),
                format!("\"{}\" ends before it starts at \"{}\"", to.text, from.text),
            ));
        }
        if secs(span.0, span.1) > whole(LONGEST_SECS) {
            let text = format!("\"{}\" is more than a century after \"{}\"", to.text, from.text);
            return Err(Fault::new(to.text.as_str(), text));
        }
        Ok(span)
    }

    /// A span, an instant (where only one end is stated), or none.
    fn maybe_span(&self, from: Option<&Moment>, to: Option<&Moment>, zone: Option<Tz>) -> Checked<Option<Span>> {
        match (from, to) {
            (Some(from), Some(to)) => self.span(from, to, zone).map(Some),
            (Some(one), None) | (None, Some(one)) => self.at(one, zone).map(|at| Some((at, at))),
            (None, None) => Ok(None),
        }
    }

    fn money(&self, amount: &Amount, about: &str) -> Checked<(Q, Currency)> {
        match amount.currency.or_else(|| self.case.currency.map(|code| code.0)) {
            Some(currency) => Ok((amount.amount.clone(), currency)),
            None => Err(Fault::new(
                about,
                format!("the amount {} of \"{about}\" has no currency, and the case names none", show(&amount.amount)),
            )),
        }
    }

    fn resource(&self, id: &str) -> Checked<usize> {
        self.case
            .resources
            .iter()
            .position(|one| one.id == id)
            .ok_or_else(|| Fault::new(id, format!("no resource is named \"{id}\"")))
    }

    fn component_named(&self, id: &str) -> Checked<usize> {
        self.case
            .components
            .iter()
            .position(|one| one.id == id)
            .ok_or_else(|| Fault::new(id, format!("no component is named \"{id}\"")))
    }

    fn runs(&self, resource: &'a Resource) -> Checked<Vec<Run>> {
        let zone = named_zone(resource.zone.as_deref())?.or(self.zone);
        let mut runs: Vec<Run> = Vec::new();
        let mut offset = Q::zero();
        for Session(session) in &resource.sessions {
            let times = session.times.unwrap_or(1);
            if times > 1 && session.from.is_some() && session.every.is_none() {
                return Err(Fault::new(
                    resource.id.as_str(),
                    format!("sessions of \"{}\" repeat without \"every\"", resource.id),
                ));
            }
            for nth in 0..times {
                let run = self.run(resource, session, nth, &offset, zone)?;
                offset = run.parts.iter().fold(offset, |offset, part| offset + &part.secs);
                runs.push(run);
            }
        }
        let mut spans: Vec<Span> = runs.iter().filter_map(Run::span).collect();
        spans.sort();
        if let Some((first, second)) = spans.iter().zip(spans.iter().skip(1)).find(|(first, second)| second.0 < first.1)
        {
            return Err(Fault::new(
                resource.id.as_str(),
                format!("\"{}\" runs twice at {}: one session lasts until {}", resource.id, second.0, first.1),
            ));
        }
        Ok(runs)
    }

    fn run(
        &self,
        resource: &Resource,
        session: &SessionFields,
        nth: u32,
        offset: &Q,
        zone: Option<Tz>,
    ) -> Checked<Run> {
        let wrong = |text: &str| Fault::new(resource.id.as_str(), format!("a session of \"{}\" {text}", resource.id));
        let mut start = session.from.as_ref().map(|from| self.at(from, zone)).transpose()?;
        let mut end = match (&session.to, &session.to_inclusive) {
            (Some(_), Some(_)) => return Err(wrong("has both to and to_inclusive")),
            (Some(to), None) => Some(self.at(to, zone)?),
            (None, Some(last)) => {
                let date = last.date().ok_or_else(|| wrong("has a to_inclusive that is no date"))?;
                let zone = zone.ok_or_else(|| wrong("has a date, and no zone is stated"))?;
                Some(super::calendar::day_span(date, zone).1)
            }
            (None, None) => None,
        };
        if let (Some(from), Some(to)) = (start, end)
            && to < from
        {
            let needle = session.to.as_ref().or(session.to_inclusive.as_ref()).map_or("", |to| to.text.as_str());
            return Err(Fault::new(needle, format!("a session of \"{}\" ends before it starts", resource.id)));
        }
        if end.is_some() && session.lasts.is_some() {
            return Err(wrong("has both an end and a length"));
        }
        if start.is_none() && end.is_some() {
            return Err(wrong("has an end and no start"));
        }
        if nth > 0
            && let (Some(every), Some(first)) = (&session.every, start)
        {
            let moved = |at: At| {
                shift(at, every, nth, zone.unwrap_or(Tz::UTC)).ok_or_else(|| wrong("repeats beyond the calendar"))
            };
            start = Some(moved(first)?);
            end = end.map(moved).transpose()?;
        }
        let events = session
            .events
            .iter()
            .map(|(name, moment)| Ok((name.clone(), self.at(moment, zone)?)))
            .collect::<Checked<BTreeMap<_, _>>>()?;
        let length = session
            .lasts
            .as_ref()
            .map(|lasts| lasts.0.clone())
            .or_else(|| start.zip(end).map(|(from, to)| secs(from, to)));
        if length.as_ref().is_some_and(|length| *length > whole(LONGEST_SECS)) {
            return Err(wrong("lasts more than a century"));
        }
        let state =
            |state: Option<&String>| state.or(session.state.as_ref()).cloned().unwrap_or_else(|| "running".to_owned());
        let mut parts: Vec<Part> = Vec::new();
        let mut passed = Q::zero();
        let mut push = |secs: Q, state: String, work: Work, attempt: Option<u32>| {
            let span = start.and_then(|start| Some((later(start, &passed)?, later(start, &(&passed + &secs))?)));
            parts.push(Part { span, offset: offset + &passed, secs: secs.clone(), state, work, attempt });
            passed += secs;
        };
        if session.pieces.is_empty() {
            let length = length.ok_or_else(|| wrong("has no length: write lasts, or from and to"))?;
            push(length, state(None), session.work, session.attempt);
        } else {
            let mut done = Q::zero();
            for (idx, Piece(piece)) in session.pieces.iter().enumerate() {
                if let Some(from) = &piece.from {
                    let start = start.ok_or_else(|| wrong("has a piece with an instant, but no start"))?;
                    if secs(start, self.at(from, zone)?) != done {
                        return Err(Fault::new(
                            from.text.as_str(),
                            format!("a piece of \"{}\" does not begin where the one before ends", resource.id),
                        ));
                    }
                }
                let next = match session.pieces.get(idx + 1) {
                    Some(Piece(next)) => match (&next.from, start) {
                        (Some(from), Some(start)) => Some(secs(start, self.at(from, zone)?)),
                        _ => None,
                    },
                    None => length.clone(),
                };
                let one = match (&piece.lasts, next) {
                    (Some(lasts), _) => lasts.0.clone(),
                    (None, Some(next)) => next - &done,
                    (None, None) => return Err(wrong("has a piece without a length")),
                };
                if one.is_negative() {
                    return Err(wrong("has a piece that ends before it starts"));
                }
                for _ in 0..piece.times.unwrap_or(1) {
                    push(one.clone(), state(piece.state.as_ref()), piece.work, piece.attempt.or(session.attempt));
                    done += &one;
                }
            }
            if let Some(length) = &length
                && *length != done
            {
                return Err(wrong(&format!("lasts {} s, its pieces {} s", show(length), show(&done))));
            }
        }
        Ok(Run { parts, ended_by: session.ended_by, events })
    }

    fn rate(&self, rate: &RateText, name: &str, about: &str) -> Checked<Rate> {
        let (amount, currency) = match (&rate.per, rate.amount.currency, self.case.currency) {
            // A share has no currency of its own.
            (Per::Percent(_), _, code) => (rate.amount.amount.clone(), code.map_or(Currency::USD, |code| code.0)),
            _ => self.money(&rate.amount, about)?,
        };
        Ok(Rate { name: name.to_owned(), amount, currency, per: rate.per.clone(), from: None, until: None })
    }

    fn component(&self, one: &'a Component) -> Checked<Priced<'a>> {
        let wrong = |text: String| Fault::new(one.id.as_str(), format!("component \"{}\": {text}", one.id));
        let zone = named_zone(one.zone.as_deref())?.or(self.zone);
        let at =
            |moment: Option<&Moment>| moment.map(|moment| self.at(moment, zone.or(self.zone_of(moment)))).transpose();
        let mut rates = Vec::new();
        if let Some(rate) = &one.rate {
            rates.push(self.rate(rate, "", &one.id)?);
        }
        for named in &one.rates {
            let rate = Rate {
                from: at(named.from.as_ref())?,
                until: at(named.until.as_ref())?,
                ..self.rate(&named.rate, &named.name, &one.id)?
            };
            if let (Some(from), Some(until)) = (rate.from, rate.until)
                && until <= from
            {
                return Err(wrong(format!("a rate ends at {until} before it starts at {from}")));
            }
            rates.push(rate);
        }
        for (idx, rate) in rates.iter().enumerate() {
            if rates.iter().skip(idx + 1).any(|other| rate.name == other.name && rate.is_with(other)) {
                return Err(wrong(format!("two rates \"{}\" hold at the same time", rate.name)));
            }
        }
        let tiers = self.tiers(one, &mut rates)?;
        let status = match (one.status, &one.inside, rates.is_empty()) {
            (_, Some(_), _) => Status::Included,
            (Some(Status::Priced), None, true) => return Err(wrong("it is priced and has no rate".to_owned())),
            (Some(status), ..) => status,
            (None, None, true) => Status::Unknown,
            (None, None, false) => Status::Priced,
        };
        if let Some(outer) = &one.inside
            && self.component_named(outer)? == self.component_named(&one.id)?
        {
            return Err(wrong("it cannot be inside itself".to_owned()));
        }
        for value in one.states.values().filter(|value| !matches!(value.as_str(), "billed" | "not billed")) {
            if !rates.iter().any(|rate| rate.name == *value) {
                return Err(wrong(format!("its state table names the rate \"{value}\", which it does not have")));
            }
        }
        for rate in &rates {
            if let Per::Percent(of) = &rate.per {
                for name in of {
                    let idx = self.component_named(name)?;
                    if name == &one.id || self.case.components.get(idx).is_some_and(|other| other.is_percent()) {
                        return Err(wrong(format!("it cannot be a share of \"{name}\", which is itself a share")));
                    }
                }
            }
        }
        if let Some(Allowance { times_of: Some(name), .. }) = &one.allowance {
            self.component_named(name)?;
        }
        if let Some(step) = one.step.as_ref().or(one.size_step.as_ref())
            && step.number.is_zero()
        {
            return Err(wrong("a step of zero".to_owned()));
        }
        if one.discount.as_ref().is_some_and(|discount| discount.0 > whole(1)) {
            return Err(wrong("a discount above the whole".to_owned()));
        }
        if one.step.iter().chain(&one.minimum).any(|step| step.unit.has_month() && step.unit.thing == Thing::One) {
            return Err(wrong("a month is no step; write hours or days".to_owned()));
        }
        if !matches!(one.tb, None | Some(1000 | 1024)) {
            return Err(wrong("tb is 1000 or 1024".to_owned()));
        }
        let resources = one.resources.iter().map(|id| self.resource(id)).collect::<Checked<Vec<_>>>()?;
        let parts = match &one.covers {
            Some(covers) => covers.iter().cloned().collect(),
            None => one.category.part().map(str::to_owned).into_iter().collect(),
        };
        let exists = (at(one.from.as_ref())?, at(one.until.as_ref())?);
        if let (Some(from), Some(until)) = exists
            && until <= from
        {
            return Err(wrong("it ends before it starts".to_owned()));
        }
        let allowance_until = at(one.allowance.as_ref().and_then(|allowance| allowance.until.as_ref()))?;
        Ok(Priced {
            of: one,
            status,
            rates,
            tiers,
            zone,
            resources,
            parts,
            exists,
            once_at: at(one.on.as_ref())?,
            allowance_until,
        })
    }

    /// The tiers of a component; their common unit becomes its rate.
    fn tiers(&self, one: &'a Component, rates: &mut Vec<Rate>) -> Checked<Vec<Tier>> {
        let wrong = |text: String| Fault::new(one.id.as_str(), format!("component \"{}\": {text}", one.id));
        let Some(tiers) = &one.tiers else { return Ok(Vec::new()) };
        if !rates.is_empty() {
            return Err(wrong("it has tiers and a rate".to_owned()));
        }
        let mut out: Vec<Tier> = Vec::new();
        let sizes = World::sizes(one, 1000);
        let size = |quantity: &Quantity| quantity.base(&sizes, &whole(2_592_000));
        for (idx, tier) in tiers.steps.iter().enumerate() {
            let rate = self.rate(&tier.rate, "", &one.id)?;
            if let Some(first) = rates.first() {
                if first.per != rate.per || first.currency != rate.currency {
                    return Err(wrong("its tiers are priced in different units".to_owned()));
                }
            } else {
                rates.push(rate.clone());
            }
            let before = out.last();
            if let Some(before) = before {
                let Some(end) = &before.up_to else {
                    return Err(wrong(format!("tier {} comes after one without an end", idx + 1)));
                };
                if let Some(from) = &tier.from {
                    let (end, from) = (size(end), size(from));
                    if from > end {
                        return Err(wrong(format!("tiers {idx} and {} leave a gap", idx + 1)));
                    }
                    if from < end {
                        return Err(wrong(format!("tiers {idx} and {} overlap", idx + 1)));
                    }
                }
                if let Some(up_to) = &tier.up_to
                    && size(up_to) <= size(end)
                {
                    return Err(wrong(format!("tier {} ends before it starts", idx + 1)));
                }
            } else if tier.from.as_ref().is_some_and(|from| !from.number.is_zero()) {
                return Err(wrong("its first tier leaves a gap from 0 on".to_owned()));
            }
            if let (Some(up_to), Per::Quantity(per)) = (&tier.up_to, &rate.per)
                && (up_to.unit.thing != per.unit.thing || (up_to.unit.time.is_some() && per.unit.time.is_none()))
            {
                return Err(wrong(format!(
                    "tier {} ends at {} of another unit than its price",
                    idx + 1,
                    up_to.unit.text()
                )));
            }
            let from = tier.from.clone().or_else(|| before.and_then(|before| before.up_to.clone()));
            out.push(Tier { from, up_to: tier.up_to.clone(), price: rate.amount });
        }
        if out.is_empty() {
            return Err(wrong("its tiers are empty".to_owned()));
        }
        Ok(out)
    }

    fn meters(&self) -> Checked<Vec<Metered<'a>>> {
        let mut out = Vec::new();
        for usage in &self.case.usage {
            let wrong = |text: &str| Fault::new(usage.meter.as_str(), format!("meter \"{}\" {text}", usage.meter));
            let resource = usage.resource.as_deref().map(|id| self.resource(id)).transpose()?;
            let zone = match resource.and_then(|idx| self.case.resources.get(idx)) {
                Some(resource) => named_zone(resource.zone.as_deref())?.or(self.zone),
                None => self.zone,
            };
            match (&usage.quantity, usage.samples.is_empty()) {
                (Some(quantity), true) => {
                    let span = self.maybe_span(usage.from.as_ref(), usage.to.as_ref(), zone)?;
                    out.push(Metered { meter: &usage.meter, resource, quantity, span, offset: None });
                }
                (None, false) => {
                    let every = &usage.every.as_ref().ok_or_else(|| wrong("has samples and no \"every\""))?.0;
                    let start = usage.from.as_ref().map(|from| self.at(from, zone)).transpose()?;
                    let mut passed = Q::zero();
                    for quantity in &usage.samples {
                        let end = &passed + every;
                        let span = start.and_then(|start| Some((later(start, &passed)?, later(start, &end)?)));
                        out.push(Metered {
                            meter: &usage.meter,
                            resource,
                            quantity,
                            span,
                            offset: Some((passed, end.clone())),
                        });
                        passed = end;
                    }
                }
                _ => return Err(wrong("needs either a quantity or samples")),
            }
        }
        Ok(out)
    }

    fn commitment(&self, one: &'a Commitment) -> Checked<Committed<'a>> {
        let wrong = |text: &str| Fault::new(one.id.as_str(), format!("commitment \"{}\" {text}", one.id));
        let zone = one.from.as_ref().map_or(self.zone, |from| self.zone_of(from));
        let start = one.from.as_ref().map(|from| self.at(from, zone)).transpose()?;
        let end = match (&one.from, &one.to) {
            (Some(from), Some(to)) => Some(self.span(from, to, zone)?.1),
            (None, Some(_)) => return Err(wrong("has an end and no start")),
            _ => None,
        };
        let mut length = match (&one.lasts, start.zip(end)) {
            (Some(_), Some(_)) => return Err(wrong("has both an end and a length")),
            (Some(lasts), None) => lasts.0.clone(),
            (None, Some((from, to))) => secs(from, to),
            (None, None) if one.spend.is_some() => Q::zero(),
            (None, None) => return Err(wrong("has no term: write from and to, or lasts")),
        };
        if let Some(unit) = &one.whole {
            if !unit.0.is_positive() {
                return Err(wrong("is in whole units of zero"));
            }
            length = (&length / &unit.0).ceil() * &unit.0;
        }
        if length > whole(LONGEST_SECS) {
            return Err(wrong("lasts more than a century"));
        }
        let term = start.and_then(|start| Some((start, later(start, &length)?)));
        let money =
            |price: &Option<super::field::Price>| price.as_ref().map(|price| self.money(&price.0, &one.id)).transpose();
        let rate = one.rate.as_ref().map(|rate| self.rate(rate, "", &one.id)).transpose()?;
        if rate.as_ref().is_some_and(|rate| !matches!(&rate.per, Per::Quantity(per) if per.unit.time.is_some())) {
            return Err(wrong("has a rate that is not for a time"));
        }
        let mut applies_to = Vec::new();
        let mut charges = Vec::new();
        for id in &one.applies_to {
            match self.case.charges.iter().position(|charge| charge.id == *id) {
                Some(charge) => charges.push(charge),
                None => applies_to.push(self.component_named(id)?),
            }
        }
        if one.spend.is_some() && one.applies_to.is_empty() {
            applies_to = (0..self.case.components.len()).collect();
            charges = (0..self.case.charges.len()).collect();
        }
        Ok(Committed {
            of: one,
            term,
            secs: length,
            rate,
            upfront: money(&one.upfront)?,
            spend: money(&one.spend)?,
            applies_to,
            charges,
            bound_to: one.bound_to.as_deref().map(|id| self.resource(id)).transpose()?,
        })
    }

    fn charges(&self) -> Checked<Vec<Billed>> {
        let mut out = Vec::new();
        for charge in &self.case.charges {
            let about = if charge.id.is_empty() { charge.bucket.as_str() } else { charge.id.as_str() };
            let wrong = |text: &str| Fault::new(about, format!("charge \"{about}\" {text}"));
            let (billed, effective) = match (&charge.amount, &charge.billed, &charge.effective) {
                (Some(both), None, None) => (both, both),
                (None, Some(billed), Some(effective)) => (billed, effective),
                _ => return Err(wrong("needs either an amount, or billed and effective")),
            };
            let money = |amount: &Amount| self.money(amount, about);
            let zone = |one: &Option<Moment>| one.as_ref().map_or(self.zone, |one| self.zone_of(one));
            let at = self.maybe_span(charge.on.as_ref(), None, zone(&charge.on))?;
            let during = self.maybe_span(charge.from.as_ref(), charge.to.as_ref(), zone(&charge.from))?;
            let resource = charge.resource.as_deref().map(|id| self.resource(id)).transpose()?;
            out.push(Billed {
                billed: money(billed)?,
                effective: money(effective)?,
                at: at.or(during.map(|span| (span.0, span.0))),
                during: during.or(at),
                resource,
            });
        }
        Ok(out)
    }
}

impl Component {
    fn is_percent(&self) -> bool {
        let rates = self.rate.iter().chain(self.rates.iter().map(|named| &named.rate));
        rates.into_iter().any(|rate| matches!(rate.per, Per::Percent(_)))
    }
}

impl Rate {
    fn is_with(&self, other: &Self) -> bool {
        let before =
            |until: Option<At>, from: Option<At>| matches!((until, from), (Some(until), Some(from)) if until <= from);
        !before(self.until, other.from) && !before(other.until, self.from)
    }

    /// What one unit is, when it is a quantity.
    pub(super) fn per(&self) -> Option<&Quantity> {
        if let Per::Quantity(quantity) = &self.per { Some(quantity) } else { None }
    }

    /// Whether it is for a thing kept over a time, or for a time alone.
    pub(super) fn is_over_time(&self) -> bool {
        self.per().is_some_and(|per| per.unit.time.is_some())
    }

    /// What is counted in it.
    pub(super) fn thing(&self) -> Thing {
        self.per().map_or(Thing::One, |per| per.unit.thing.clone())
    }
}

impl Run {
    /// From its start to its end, where it has instants.
    pub(super) fn span(&self) -> Option<Span> {
        Some((self.parts.first()?.span?.0, self.parts.last()?.span?.1))
    }
}

/// An instant this many seconds later; `None` beyond the calendar. Below a nanosecond nothing is kept.
pub(super) fn later(at: At, secs: &Q) -> Option<At> {
    let nanos = (secs * whole(1_000_000_000)).round().to_integer();
    let (secs, rest) = (&nanos / 1_000_000_000_i64, &nanos % 1_000_000_000_i64);
    at.checked_add_signed(TimeDelta::new(secs.to_i64()?, rest.to_u32()?)?)
}

/// An instant moved by a number of steps, months by the calendar of the zone and always from the first one.
fn shift(at: At, every: &Every, nth: u32, zone: Tz) -> Option<At> {
    match every {
        Every::Secs(step) => later(at, &(step * whole(i64::from(nth)))),
        Every::Months(step) => {
            let local =
                at.with_timezone(&zone).naive_local().checked_add_months(Months::new(step.checked_mul(nth)?))?;
            Some(local.and_local_timezone(zone).earliest()?.with_timezone(&Utc))
        }
    }
}
