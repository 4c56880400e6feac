//! From sessions, states, meters and outcomes to metered lines, and from there to what is billed after step, minimum and
//! interruption.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use num_traits::{One as _, Signed as _, Zero as _};

use super::answer::{NoValue, Why};
use super::calendar::{At, Span, anniversary, day_of, day_span, meet, month_of, month_span, secs};
use super::case::{Driver, Each, EndedBy, PartialMonth, Reset, StepRounding, Work};
use super::count;
use super::field::{MonthBasis, Per};
use super::number::{Q, RoundMode, round_to_step, whole};
use super::unit::{Quantity, Sizes, Thing};
use super::world::{Metered, Priced, Rate, Run, World, later};

/// One way to read the rules that a case does not state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub month: MonthBasis,
    pub partial: PartialMonth,
    pub tera: u32,
}

/// What one component comes to for one span of one resource.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub component: usize,
    pub resource: Option<usize>,
    /// The uninterrupted billed span it belongs to.
    pub run: usize,
    pub span: Option<Span>,
    pub state: String,
    pub work: Option<Work>,
    pub attempt: Option<u32>,
    /// Seconds before and after step and minimum; zero for volumes.
    pub secs: Q,
    pub billed_secs: Q,
    /// Things kept over the time, or the volume itself.
    pub size: Q,
    /// Things × seconds (or things), before and after step and minimum.
    pub metered: Q,
    pub rounded: Q,
    /// Seconds of the month it lies in, where its price is for a month, and when that month began.
    pub month: Q,
    pub month_at: Option<At>,
    pub rate: usize,
    /// Whether the provider ended the span it belongs to.
    pub by_provider: bool,
    /// Units of the rate, after what is free.
    pub units: Q,
    pub amount: Q,
}

/// What is rounded together: a resource, an uninterrupted span of it, a day or month.
pub(super) type GroupKey = (Option<usize>, usize, Option<chrono::NaiveDate>);

/// The measure of a line that is rounded, and how it is set.
type Get = fn(&Line) -> &Q;
type Set = fn(&mut Line, Q);

/// What the lines of a component are read with.
pub(super) struct Meter<'a, 'w> {
    pub world: &'w World<'a>,
    pub reading: &'w Reading,
    pub component: usize,
    pub one: &'w Priced<'a>,
    pub sizes: Sizes,
}

/// A part of a run with what is kept in it.
struct Kept {
    resource: usize,
    run: usize,
    span: Option<Span>,
    offset: Q,
    secs: Q,
    state: String,
    work: Work,
    attempt: Option<u32>,
    rate: usize,
    by_provider: bool,
    /// When its session started.
    anchor: Option<At>,
}

impl<'a, 'w> Meter<'a, 'w> {
    pub(super) fn new(world: &'w World<'a>, reading: &'w Reading, component: usize, one: &'w Priced<'a>) -> Self {
        Self { world, reading, component, one, sizes: World::sizes(one.of, reading.tera) }
    }

    /// The zone in which days and months are closed.
    pub(super) fn zone(&self) -> Tz {
        self.one.zone.unwrap_or(Tz::UTC)
    }

    /// How long a month is, and whether that is stated.
    pub(super) fn basis(&self) -> &MonthBasis {
        self.one.of.month.as_ref().unwrap_or(&self.reading.month)
    }

    fn partial(&self) -> PartialMonth {
        match (self.one.of.partial_month, &self.one.of.month) {
            (Some(stated), _) => stated,
            // Who says how long a month is means to divide by it.
            (None, Some(_)) => PartialMonth::Prorated,
            (None, None) => self.reading.partial,
        }
    }

    fn has_month(&self) -> bool {
        self.one.rates.iter().any(|rate| rate.per().is_some_and(|per| per.unit.has_month()))
    }

    /// The lines of the component with everything up to step and minimum applied.
    pub(super) fn lines(&self) -> Result<Vec<Line>, NoValue> {
        let Some(first) = self.one.rates.first() else {
            return Err(NoValue::new(Why::MissingPrice, self.one.of.id.as_str()));
        };
        let mut lines = match (&first.per, &self.one.of.driver) {
            (Per::Percent(_), _) => Vec::new(),
            (Per::Once, _) => self.once(),
            (Per::Quantity(_), Some(Driver::Count(what))) => self.counted(what)?,
            (Per::Quantity(_), Some(Driver::Pixels(what))) => self.pixels(what)?,
            (Per::Quantity(_), Some(Driver::Seconds(what))) => self.seconds(what)?,
            (Per::Quantity(per), driver) if per.unit.time.is_some() => {
                match driver.as_ref().and_then(|driver| self.integrated(driver)) {
                    Some(volumes) => self.volumes(&volumes)?,
                    None => self.over_time()?,
                }
            }
            (Per::Quantity(_), driver) => match driver {
                None | Some(Driver::Requested) => self.requested()?,
                Some(driver) => self.volumes(&self.of_meter(meter_of(driver)))?,
            },
        };
        self.step_and_minimum(&mut lines)?;
        Ok(lines)
    }

    fn line(&self, resource: Option<usize>, run: usize, span: Option<Span>, metered: Q) -> Line {
        Line {
            component: self.component,
            resource,
            run,
            span,
            state: String::new(),
            work: None,
            attempt: None,
            secs: Q::zero(),
            billed_secs: Q::zero(),
            size: metered.clone(),
            rounded: metered.clone(),
            metered,
            month: Q::one(),
            month_at: None,
            rate: 0,
            by_provider: false,
            units: Q::zero(),
            amount: Q::zero(),
        }
    }

    /// Charged once: as often as its quantity says.
    fn once(&self) -> Vec<Line> {
        let n = self.one.of.quantity.as_ref().map_or_else(Q::one, |quantity| quantity.number.clone());
        let at = self.one.once_at.or(self.one.exists.0).map(|at| (at, at));
        let resource = if let [only] = self.one.resources.as_slice() { Some(*only) } else { None };
        vec![self.line(resource, 0, at, n)]
    }

    /// A volume that was asked for.
    fn requested(&self) -> Result<Vec<Line>, NoValue> {
        let quantity = self
            .one
            .of
            .quantity
            .as_ref()
            .ok_or_else(|| NoValue::new(Why::NotRecorded, format!("the quantity of \"{}\"", self.one.of.id)))?;
        self.fits(quantity)?;
        let resource = if let [only] = self.one.resources.as_slice() { Some(*only) } else { None };
        let span = self.one.once_at.map(|at| (at, at)).or(self.world.period);
        Ok(vec![self.line(resource, 0, span, quantity.things(&self.sizes))])
    }

    /// A quantity in another unit than the price has no amount.
    fn fits(&self, quantity: &Quantity) -> Result<(), NoValue> {
        let mut things = self.one.rates.iter().map(Rate::thing);
        if things.all(|thing| thing == quantity.unit.thing) {
            return Ok(());
        }
        let about = format!("\"{}\" is priced in another unit than \"{}\"", self.one.of.id, quantity.unit.text());
        Err(NoValue::new(Why::UnknownUnit, about))
    }

    fn of_meter(&self, meter: &str) -> Vec<&'w Metered<'a>> {
        let is_ours = |one: &&Metered<'a>| {
            one.meter == meter
                && (self.one.resources.is_empty()
                    || one.resource.is_none_or(|resource| self.one.resources.contains(&resource)))
        };
        self.world.meters.iter().filter(is_ours).collect()
    }

    /// Records of a meter that already hold things × time.
    fn integrated(&self, driver: &Driver) -> Option<Vec<&'w Metered<'a>>> {
        let records = self.of_meter(meter_of(driver));
        let all = !records.is_empty() && records.iter().all(|one| one.quantity.unit.time.is_some());
        all.then_some(records)
    }

    /// Volumes of a meter, one line a record; or its peak of a day, or its 95th percentile.
    fn volumes(&self, records: &[&'w Metered<'a>]) -> Result<Vec<Line>, NoValue> {
        if records.is_empty() {
            return Err(NoValue::new(Why::NotRecorded, format!("the meter of \"{}\"", self.one.of.id)));
        }
        let mut lines = Vec::new();
        for (run, record) in records.iter().enumerate() {
            self.fits(record.quantity)?;
            let (month, _) = self.month(record.span, None)?;
            let base = record.quantity.base(&self.sizes, &month);
            for (span, share) in self.cut(record.span, None) {
                if span.is_some_and(|span| !self.is_there(span.0)) {
                    continue;
                }
                let metered = &base * &share;
                let rate = self.rate_at("", span.map(|span| span.0))?;
                let (month, month_at) = self.month(span, None)?;
                lines.push(Line { month, month_at, rate, ..self.line(record.resource, run, span, metered) });
            }
        }
        match &self.one.of.driver {
            Some(Driver::P95(_)) => Ok(self.percentile(lines).into_iter().collect()),
            Some(Driver::PeakOfDay(_)) => self.peaks(lines),
            Some(Driver::Larger(_)) => {
                let least = match &self.one.of.quantity {
                    Some(quantity) => quantity.things(&self.sizes),
                    None => {
                        return Err(NoValue::new(Why::NotRecorded, format!("the quantity of \"{}\"", self.one.of.id)));
                    }
                };
                for line in &mut lines {
                    if line.metered < least {
                        line.metered.clone_from(&least);
                        line.rounded.clone_from(&least);
                    }
                }
                Ok(lines)
            }
            _ => Ok(lines),
        }
    }

    /// The sample that 95 % of all samples do not exceed (nearest rank).
    fn percentile(&self, mut lines: Vec<Line>) -> Option<Line> {
        lines.sort_by(|a, b| a.metered.cmp(&b.metered));
        let rank = (lines.len() * 95).div_ceil(100).max(1);
        let mut line = lines.into_iter().nth(rank - 1)?;
        line.span = self.world.period;
        Some(line)
    }

    /// The largest line of each local day.
    fn peaks(&self, lines: Vec<Line>) -> Result<Vec<Line>, NoValue> {
        let mut days: BTreeMap<(Option<usize>, chrono::NaiveDate), Line> = BTreeMap::new();
        for line in lines {
            let span = line.span.ok_or_else(|| self.no_instant("the peak of a day"))?;
            let key = (line.resource, day_of(span.0, self.zone()));
            match days.get(&key) {
                Some(best) if best.metered >= line.metered => {}
                _ => {
                    days.insert(key, line);
                }
            }
        }
        Ok(days.into_values().collect())
    }

    fn counted(&self, what: &str) -> Result<Vec<Line>, NoValue> {
        let mut lines = Vec::new();
        for (idx, (resource, span)) in self.world.outcomes.iter().enumerate() {
            if self.is_ours(*resource) {
                let n = count::of_one(self.world, idx, what)?;
                lines.push(Line {
                    rate: self.rate_at("", span.map(|span| span.0))?,
                    ..self.line(*resource, idx, *span, n)
                });
            }
        }
        if lines.is_empty() { Err(NoValue::new(Why::NotRecorded, what)) } else { Ok(lines) }
    }

    fn pixels(&self, what: &str) -> Result<Vec<Line>, NoValue> {
        let mut lines = self.counted(what)?;
        for line in &mut lines {
            let size = count::pixels(self.world, line.run)?;
            line.metered = &line.metered * size;
            line.rounded.clone_from(&line.metered);
            line.size.clone_from(&line.metered);
        }
        Ok(lines)
    }

    fn seconds(&self, what: &str) -> Result<Vec<Line>, NoValue> {
        let mut lines = self.counted(what)?;
        for line in &mut lines {
            let length = self.world.case.outcomes.get(line.run).and_then(|one| one.length.as_ref());
            let length = length.ok_or_else(|| NoValue::new(Why::NotRecorded, "the length of an output"))?;
            line.secs = &line.metered * &length.0;
            line.size = Q::one();
            line.metered.clone_from(&line.secs);
            line.rounded.clone_from(&line.secs);
            line.billed_secs.clone_from(&line.secs);
        }
        Ok(lines)
    }

    fn is_ours(&self, resource: Option<usize>) -> bool {
        self.one.resources.is_empty() || resource.is_none_or(|resource| self.one.resources.contains(&resource))
    }

    fn is_there(&self, at: At) -> bool {
        self.one.exists.0.is_none_or(|from| from <= at) && self.one.exists.1.is_none_or(|until| at < until)
    }

    fn no_instant(&self, what: &str) -> NoValue {
        NoValue::new(Why::NoInstant, format!("{what} of \"{}\" needs instants", self.one.of.id))
    }

    /// The seconds of the month that a span lies in, by the basis of the component, and when it began.
    fn month(&self, span: Option<Span>, anchor: Option<At>) -> Result<(Q, Option<At>), NoValue> {
        if !self.has_month() {
            return Ok((Q::one(), None));
        }
        let calendar = span.map(|span| month_span(month_of(span.0, self.zone()), self.zone()).0);
        match self.basis() {
            MonthBasis::Fixed(secs) | MonthBasis::Capped(secs) => Ok((secs.clone(), calendar)),
            MonthBasis::Anniversary => {
                let (span, anchor) = span.zip(anchor).ok_or_else(|| self.no_instant("the month since the start"))?;
                let month = anniversary(span.0, anchor, self.zone());
                Ok((secs(month.0, month.1), Some(month.0)))
            }
            basis @ (MonthBasis::Real | MonthBasis::Days) => {
                let zone = self.zone();
                let lies_in = span.or_else(|| {
                    // A bare length of time lies in the period of the case, which may name its month.
                    self.world.period.filter(|period| {
                        let month = month_span(month_of(period.0, zone), zone);
                        meet(*period, month) == Some(*period)
                    })
                });
                let at = lies_in.ok_or_else(|| self.no_instant("the calendar month"))?.0;
                let month = month_span(month_of(at, zone), zone);
                if *basis == MonthBasis::Real {
                    return Ok((secs(month.0, month.1), Some(month.0)));
                }
                let day = day_span(day_of(at, zone), zone);
                let n_days = (day_of(month.1, zone) - day_of(month.0, zone)).num_days();
                Ok((secs(day.0, day.1) * whole(n_days), Some(month.0)))
            }
        }
    }

    /// Whether lines must end where months, or days, do.
    fn cuts(&self) -> (bool, bool) {
        let one = self.one.of;
        let resets = [
            one.tiers.as_ref().map(|tiers| tiers.reset),
            one.allowance.as_ref().map(|allowance| allowance.reset),
            one.floor.as_ref().map(|floor| floor.each),
            one.cap.as_ref().map(|cap| cap.each),
        ];
        let each = [Some(one.each), one.round.map(|round| round.each)];
        let by_month = self.has_month() && !matches!(self.basis(), MonthBasis::Fixed(_) | MonthBasis::Anniversary);
        let full = self.has_month() && self.partial() == PartialMonth::Full && *self.basis() != MonthBasis::Anniversary;
        let months = by_month || full || resets.contains(&Some(Reset::Month)) || each.contains(&Some(Each::Month));
        let days = (self.has_month() && *self.basis() == MonthBasis::Days)
            || resets.contains(&Some(Reset::Day))
            || each.contains(&Some(Each::Day))
            || matches!(one.driver, Some(Driver::PeakOfDay(_)));
        (months, days)
    }

    /// The span cut at every instant at which a rule changes, with the share of each part.
    fn cut(&self, span: Option<Span>, anchor: Option<At>) -> Vec<(Option<Span>, Q)> {
        let Some(span) = span.filter(|span| span.0 < span.1) else { return vec![(span, Q::one())] };
        let (months, days) = self.cuts();
        let zone = self.zone();
        let mut edges: Vec<At> = vec![span.0, span.1];
        let mut walk = |next: &dyn Fn(At) -> At| {
            let mut at = next(span.0);
            while at < span.1 {
                edges.push(at);
                let then = next(at);
                if then <= at {
                    break;
                }
                at = then;
            }
        };
        if months {
            walk(&|at| month_span(month_of(at, zone), zone).1);
        }
        if let (true, MonthBasis::Anniversary, Some(anchor)) = (self.has_month(), self.basis(), anchor) {
            walk(&|at| anniversary(at, anchor, zone).1);
        }
        if days {
            walk(&|at| day_span(day_of(at, zone), zone).1);
        }
        let ours = self.one.rates.iter().flat_map(|rate| [rate.from, rate.until]);
        let others = [self.one.exists.0, self.one.exists.1, self.one.allowance_until];
        edges.extend(ours.chain(others).flatten().filter(|at| span.0 < *at && *at < span.1));
        edges.sort();
        edges.dedup();
        let length = secs(span.0, span.1);
        edges
            .iter()
            .zip(edges.iter().skip(1))
            .map(|(from, to)| (Some((*from, *to)), secs(*from, *to) / &length))
            .collect()
    }

    /// The rate with this name that holds at an instant.
    fn rate_at(&self, name: &str, at: Option<At>) -> Result<usize, NoValue> {
        // Where no rate goes without a name, the first name is meant.
        let is_unnamed = name.is_empty() && self.one.rates.iter().all(|rate| !rate.name.is_empty());
        let name = if is_unnamed { self.one.rates.first().map_or("", |rate| rate.name.as_str()) } else { name };
        for (idx, rate) in self.one.rates.iter().enumerate().filter(|(_, rate)| rate.name == name) {
            let holds = match at {
                Some(at) => rate.from.is_none_or(|from| from <= at) && rate.until.is_none_or(|until| at < until),
                None if rate.from.is_none() && rate.until.is_none() => true,
                None => return Err(self.no_instant("a dated rate")),
            };
            if holds {
                return Ok(idx);
            }
        }
        let when = at.map_or_else(String::new, |at| format!(" at {at}"));
        Err(NoValue::new(Why::MissingPrice, format!("no rate of \"{}\" holds{when}", self.one.of.id)))
    }

    /// The rate of a state; `None` where it is not billed.
    fn rate_of_state(&self, state: &str, at: Option<At>) -> Result<Option<usize>, NoValue> {
        let table = &self.one.of.states;
        let value = match table.get(state).or_else(|| table.get("*")) {
            Some(value) => value.as_str(),
            // Without a table a component is charged while the resource runs, and nothing is known of other states.
            None if table.is_empty() && state == "running" => "billed",
            None => {
                return Err(NoValue::new(Why::StateNotStated, format!("\"{}\" in state \"{state}\"", self.one.of.id)));
            }
        };
        match value {
            "not billed" => Ok(None),
            "billed" => self.rate_at("", at).map(Some),
            name => self.rate_at(name, at).map(Some),
        }
    }

    /// The parts of all sessions that are billed, cut where a rule changes.
    fn kept(&self) -> Result<Vec<Kept>, NoValue> {
        let mut out: Vec<Kept> = Vec::new();
        let mut run_id = 0;
        let all: Vec<usize> = (0..self.world.runs.len()).collect();
        let ours = if self.one.resources.is_empty() { &all } else { &self.one.resources };
        for resource in ours {
            for run in self.world.runs.get(*resource).into_iter().flatten() {
                run_id += 1;
                let (from, to) = self.metered_span(run)?;
                let anchor = run.span().map(|span| span.0);
                for part in &run.parts {
                    for (span, share) in self.cut(part.span, anchor) {
                        let inside = |span: Span| meet(span, (from.unwrap_or(span.0), to.unwrap_or(span.1)));
                        let (span, length) = match span {
                            Some(whole) if whole.0 < whole.1 => match inside(whole) {
                                Some(span) if self.is_there(span.0) => (Some(span), secs(span.0, span.1)),
                                _ => continue,
                            },
                            other => (other, &part.secs * &share),
                        };
                        let Some(rate) = self.rate_of_state(&part.state, span.map(|span| span.0))? else {
                            // What is not billed ends the uninterrupted span.
                            run_id += 1;
                            continue;
                        };
                        let offset = match (span, part.span) {
                            (Some(span), Some(whole)) => &part.offset + secs(whole.0, span.0),
                            _ => part.offset.clone(),
                        };
                        out.push(Kept {
                            resource: *resource,
                            run: run_id,
                            span,
                            offset,
                            secs: length,
                            state: part.state.clone(),
                            work: part.work,
                            attempt: part.attempt,
                            rate,
                            by_provider: false,
                            anchor,
                        });
                    }
                }
                if run.ended_by == EndedBy::Provider {
                    out.iter_mut().filter(|kept| kept.run == run_id).for_each(|kept| kept.by_provider = true);
                }
            }
        }
        Ok(out)
    }

    /// From the start event to the end event of a session.
    fn metered_span(&self, run: &Run) -> Result<(Option<At>, Option<At>), NoValue> {
        let event = |name: &Option<String>| {
            name.as_ref()
                .map(|name| {
                    run.events.get(name).copied().ok_or_else(|| {
                        NoValue::new(
                            Why::NotRecorded,
                            format!("the event \"{name}\" of a session of \"{}\"", self.one.of.id),
                        )
                    })
                })
                .transpose()
        };
        Ok((event(&self.one.of.metered_from)?, event(&self.one.of.metered_to)?))
    }

    /// Things kept over time, or time alone.
    fn over_time(&self) -> Result<Vec<Line>, NoValue> {
        let has_resources = !self.world.runs.is_empty();
        let kept = if has_resources { self.kept()? } else { self.kept_in_period()? };
        let size = match &self.one.of.quantity {
            Some(quantity) => {
                // A number without a unit counts whatever the price counts.
                if quantity.unit.thing != Thing::One {
                    self.fits(quantity)?;
                }
                Some(quantity)
            }
            None => None,
        };
        let mut lines = Vec::new();
        for part in kept {
            let rate = self.one.rates.get(part.rate);
            let per_one = rate.and_then(Rate::per).map_or_else(Q::one, |per| per.unit.things(&self.sizes));
            let requested = match size {
                Some(quantity) if quantity.unit.thing == Thing::One => quantity.number.clone() * &per_one,
                Some(quantity) => quantity.things(&self.sizes),
                None => per_one,
            };
            let levels = match &self.one.of.driver {
                None | Some(Driver::Requested) => vec![(part.span, part.secs.clone(), requested)],
                Some(driver) => self.levels(driver, &part, &requested)?,
            };
            for (span, length, size) in levels {
                let size = self.billed_size(size)?;
                let metered = &size * &length;
                let (month, month_at) = self.month(span, part.anchor)?;
                lines.push(Line {
                    state: part.state.clone(),
                    work: Some(part.work),
                    attempt: part.attempt,
                    billed_secs: length.clone(),
                    secs: length,
                    size,
                    month,
                    month_at,
                    rate: part.rate,
                    by_provider: part.by_provider,
                    ..self.line(has_resources.then_some(part.resource), part.run, span, metered)
                });
            }
        }
        Ok(lines)
    }

    /// Without resources the component is charged over the period of the case.
    fn kept_in_period(&self) -> Result<Vec<Kept>, NoValue> {
        let period = match (self.one.exists, self.world.period) {
            ((Some(from), Some(until)), None) => (from, until),
            (_, Some(period)) => period,
            _ => return Err(NoValue::new(Why::NotRecorded, format!("when \"{}\" was charged", self.one.of.id))),
        };
        let mut out = Vec::new();
        for (span, _) in self.cut(Some(period), Some(period.0)) {
            let Some(span) = span.filter(|span| self.is_there(span.0)) else { continue };
            if let Some(rate) = self.rate_of_state("running", Some(span.0))? {
                out.push(Kept {
                    resource: 0,
                    run: 1,
                    span: Some(span),
                    offset: Q::zero(),
                    secs: secs(span.0, span.1),
                    state: "running".to_owned(),
                    work: Work::Useful,
                    attempt: None,
                    rate,
                    by_provider: false,
                    anchor: Some(period.0),
                });
            }
        }
        Ok(out)
    }

    /// What a meter showed during a part: its levels with their times.
    fn levels(&self, driver: &Driver, part: &Kept, requested: &Q) -> Result<Vec<(Option<Span>, Q, Q)>, NoValue> {
        let meter = meter_of(driver);
        let records: Vec<&Metered<'a>> = self
            .of_meter(meter)
            .into_iter()
            .filter(|one| one.resource.is_none_or(|resource| resource == part.resource))
            .collect();
        if records.is_empty() {
            return Err(NoValue::new(Why::NotRecorded, format!("the meter \"{meter}\" for \"{}\"", self.one.of.id)));
        }
        for record in &records {
            self.fits(record.quantity)?;
        }
        let size = |record: &Metered<'_>| record.quantity.things(&self.sizes);
        match driver {
            Driver::P95(_) => {
                let mut sizes: Vec<Q> = records.iter().map(|record| size(record)).collect();
                sizes.sort();
                let rank = (sizes.len() * 95).div_ceil(100).max(1);
                let level = sizes.into_iter().nth(rank - 1).unwrap_or_else(Q::zero);
                return Ok(vec![(part.span, part.secs.clone(), level)]);
            }
            Driver::PeakOfDay(_) => {
                let span = part.span.ok_or_else(|| self.no_instant("the peak of a day"))?;
                let day = day_span(day_of(span.0, self.zone()), self.zone());
                let levels = records.iter().filter(|one| {
                    one.span.is_some_and(|at| meet(at, day).is_some() || (day.0 <= at.0 && at.0 < day.1))
                });
                let level = levels.map(|record| size(record)).max().unwrap_or_else(Q::zero);
                return Ok(vec![(part.span, part.secs.clone(), level)]);
            }
            _ => {}
        }
        let mut out = Vec::new();
        let mut covered = Q::zero();
        for record in records {
            let shown = size(record);
            let level = if matches!(driver, Driver::Larger(_)) { shown.max(requested.clone()) } else { shown };
            let both = match (part.span, record.span, &record.offset) {
                (Some(span), Some(window), _) => meet(span, window).map(|span| (Some(span), secs(span.0, span.1))),
                // A level without a time stands all the time.
                (span, None, None) => Some((span, part.secs.clone())),
                (span, None, Some((from, to))) => {
                    let start = from.max(&part.offset).clone();
                    let end = to.min(&(&part.offset + &part.secs)).clone();
                    let moved = |at: &Q| span.and_then(|span| later(span.0, &(at - &part.offset)));
                    (start < end).then(|| (moved(&start).zip(moved(&end)), end - start))
                }
                (None, Some(_), _) => return Err(self.no_instant("a dated meter")),
            };
            if let Some((span, length)) = both {
                covered += &length;
                out.push((span, length, level));
            }
        }
        if covered > part.secs {
            return Err(NoValue::new(Why::CountedTwice, format!("the meter \"{meter}\" shows two levels at one time")));
        }
        // Where the meter shows nothing, nothing is used; what was asked for still stands.
        if covered < part.secs && matches!(driver, Driver::Larger(_)) {
            let rest = &part.secs - covered;
            out.push((part.span.filter(|_| out.is_empty()), rest, requested.clone()));
        }
        Ok(out)
    }

    fn billed_size(&self, size: Q) -> Result<Q, NoValue> {
        let mut size = size;
        if let Some(step) = &self.one.of.size_step {
            self.fits(step)?;
            size = round_to_step(&size, &step.things(&self.sizes), RoundMode::Up);
        }
        if let Some(least) = &self.one.of.size_minimum {
            self.fits(least)?;
            size = size.max(least.things(&self.sizes));
        }
        Ok(size)
    }

    /// Rounds each session, day or period to its step, then to its minimum; then drops what an interruption makes free.
    fn step_and_minimum(&self, lines: &mut [Line]) -> Result<(), NoValue> {
        let one = self.one.of;
        if one.step.is_some() || one.minimum.is_some() {
            let mut groups: BTreeMap<GroupKey, Vec<&mut Line>> = BTreeMap::new();
            for line in lines.iter_mut() {
                let start = |line: &Line| {
                    line.span.map(|span| span.0).ok_or_else(|| self.no_instant("a step for each day or month"))
                };
                let key = match one.each {
                    Each::Session => (line.resource, line.run, None),
                    Each::Day => (line.resource, 0, Some(day_of(start(line)?, self.zone()))),
                    // Lines without instants are one month together.
                    Each::Month => (line.resource, 0, line.span.map(|span| month_of(span.0, self.zone()))),
                    Each::Period => (line.resource, 0, None),
                };
                groups.entry(key).or_default().push(line);
            }
            for group in groups.values_mut() {
                self.round_group(group)?;
            }
        }
        if let Some(interruption) = &one.interruption {
            let mut lengths: BTreeMap<usize, Q> = BTreeMap::new();
            for line in lines.iter() {
                *lengths.entry(line.run).or_insert_with(Q::zero) += &line.secs;
            }
            for line in lines.iter_mut() {
                let short = lengths.get(&line.run).is_some_and(|length| *length < interruption.free_within.0);
                if short && line.by_provider {
                    line.rounded = Q::zero();
                    line.billed_secs = Q::zero();
                }
            }
        }
        Ok(())
    }

    fn round_group(&self, group: &mut [&mut Line]) -> Result<(), NoValue> {
        let one = self.one.of;
        let is_time = |quantity: &Quantity| quantity.unit.thing == Thing::One && quantity.unit.time.is_some();
        let times_things = one.step.iter().chain(&one.minimum).any(|quantity| !is_time(quantity));
        for quantity in one.step.iter().chain(&one.minimum) {
            if !is_time(quantity) {
                self.fits(quantity)?;
            }
        }
        let (get, set): (Get, Set) = if times_things {
            (|line| &line.metered, |line, value| line.rounded = value)
        } else {
            (
                |line| &line.secs,
                |line, value| {
                    line.rounded = &line.size * &value;
                    line.billed_secs = value;
                },
            )
        };
        let month = group.first().map_or_else(Q::one, |line| line.month.clone());
        let size = |quantity: &Quantity| {
            if times_things {
                quantity.base(&self.sizes, &month)
            } else {
                quantity.number.clone() * quantity.unit.time.map_or_else(Q::one, |time| time.secs_with(&month))
            }
        };
        let metered = group.iter().fold(Q::zero(), |sum, line| sum + get(line));
        let mut billed = metered.clone();
        if let Some(step) = &one.step {
            let mode = match one.rounding {
                StepRounding::Up => RoundMode::Up,
                StepRounding::Down => RoundMode::Down,
                StepRounding::Nearest => RoundMode::HalfUp,
            };
            billed = round_to_step(&billed, &size(step), mode);
        }
        if let Some(least) = &one.minimum {
            billed = billed.max(size(least));
        }
        let extra = &billed - &metered;
        if extra.is_negative() {
            let share = &billed / &metered;
            for line in group.iter_mut() {
                let value = get(line) * &share;
                set(line, value);
            }
        } else if let Some(last) = group.last_mut() {
            let value = get(last) + extra;
            set(last, value);
        }
        Ok(())
    }
}

fn meter_of(driver: &Driver) -> &str {
    match driver {
        Driver::Used(meter)
        | Driver::Larger(meter)
        | Driver::Allocated(meter)
        | Driver::PeakOfDay(meter)
        | Driver::P95(meter)
        | Driver::Count(meter)
        | Driver::Pixels(meter)
        | Driver::Seconds(meter) => meter,
        Driver::Requested => "",
    }
}
