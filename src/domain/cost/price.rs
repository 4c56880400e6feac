//! From metered lines to amounts: what is free, tiers, rate, floor and cap, rounding of money; then shares of components.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use iso_currency::Currency;
use num_traits::{One as _, Signed as _, Zero as _};

use super::answer::{NoValue, Why};
use super::calendar::{At, day_of, month_of};
use super::case::{Each, Limit, MoneyRounding, PartialMonth, Reset, Scope, Split, Status, TierKind};
use super::field::{MonthBasis, Per};
use super::meter::{GroupKey, Line, Meter, Reading};
use super::number::{Q, round_places, whole};
use super::unit::{Quantity, Thing};
use super::world::{Priced, Tier, World};

/// What shares an allowance, a tier table, a floor or a cap.
type PoolKey = (Option<usize>, String, Option<NaiveDate>);

/// The resources of a pool.
pub(super) type Sharers = BTreeSet<Option<usize>>;

/// One component, priced.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Account {
    pub lines: Vec<Line>,
    pub currency: Currency,
    /// Resources that share something in it, so that a part of them alone has no amount.
    pub shared: Vec<Sharers>,
}

/// Every component priced under one reading; `Err` where it has no amount.
pub(super) fn price(world: &World<'_>, reading: &Reading) -> Vec<Result<Account, NoValue>> {
    let mut accounts: Vec<Result<Account, NoValue>> =
        world.components.iter().enumerate().map(|(idx, one)| account(world, reading, idx, one)).collect();
    for (idx, one) in world.components.iter().enumerate() {
        if let Some(Per::Percent(of)) = one.rates.first().map(|rate| &rate.per)
            && one.status == Status::Priced
        {
            let made = share(world, &accounts, idx, of, one);
            if let Some(slot) = accounts.get_mut(idx) {
                *slot = made;
            }
        }
    }
    accounts
}

fn account(world: &World<'_>, reading: &Reading, idx: usize, one: &Priced<'_>) -> Result<Account, NoValue> {
    let currency = one.rates.first().map_or(Currency::USD, |rate| rate.currency);
    match one.status {
        Status::Included | Status::NotApplicable => {
            return Ok(Account { lines: Vec::new(), currency, shared: Vec::new() });
        }
        Status::Unknown => return Err(NoValue::new(Why::MissingPrice, one.of.id.as_str())),
        Status::Priced => {}
    }
    if let Some(other) = one.rates.iter().find(|rate| rate.currency != currency) {
        let about = format!("\"{}\" in {} and {}", one.of.id, currency.code(), other.currency.code());
        return Err(NoValue::new(Why::MixedCurrency, about));
    }
    let meter = Meter::new(world, reading, idx, one);
    let mut lines = meter.lines()?;
    let pricer = Pricer { meter: &meter, one, world };
    pricer.units(&mut lines);
    pricer.cap_hours(&mut lines);
    pricer.full_months(&mut lines);
    let mut shared = pricer.allowance(&mut lines)?;
    shared.extend(pricer.amounts(&mut lines)?);
    if let Some(discount) = &one.of.discount {
        lines.iter_mut().for_each(|line| line.amount *= Q::one() - &discount.0);
    }
    if let Some(floor) = &one.of.floor {
        shared.extend(pricer.limit(&mut lines, floor, true)?);
    }
    if let Some(cap) = &one.of.cap {
        shared.extend(pricer.limit(&mut lines, cap, false)?);
    }
    if let Some(round) = one.of.round {
        pricer.round(&mut lines, round, currency)?;
    }
    shared.retain(|sharers| sharers.len() > 1 && one.of.split.is_none());
    Ok(Account { lines, currency, shared })
}

/// A percentage of other components, laid on their lines.
fn share(
    world: &World<'_>,
    accounts: &[Result<Account, NoValue>],
    idx: usize,
    of: &[String],
    one: &Priced<'_>,
) -> Result<Account, NoValue> {
    let part = one.rates.first().map_or_else(Q::zero, |rate| rate.amount.clone());
    let mut lines = Vec::new();
    let mut currency = None;
    for name in of {
        let base = match world.component(name).and_then(|base| accounts.get(base)) {
            Some(Ok(account)) => account,
            Some(Err(none)) => return Err(none.clone()),
            None => continue,
        };
        if *currency.get_or_insert(base.currency) != base.currency {
            return Err(NoValue::new(Why::MixedCurrency, format!("the base of \"{}\"", one.of.id)));
        }
        lines.extend(base.lines.iter().map(|line| Line {
            component: idx,
            amount: &line.amount * &part,
            units: line.amount.clone(),
            rate: 0,
            ..line.clone()
        }));
    }
    let currency = currency.unwrap_or_else(|| one.rates.first().map_or(Currency::USD, |rate| rate.currency));
    let mut account = Account { lines, currency, shared: Vec::new() };
    let reading = Reading { month: MonthBasis::Real, partial: PartialMonth::Prorated, tera: 1000 };
    let meter = Meter::new(world, &reading, idx, one);
    let pricer = Pricer { meter: &meter, one, world };
    if let Some(floor) = &one.of.floor {
        account.shared.extend(pricer.limit(&mut account.lines, floor, true)?);
    }
    if let Some(cap) = &one.of.cap {
        account.shared.extend(pricer.limit(&mut account.lines, cap, false)?);
    }
    if let Some(round) = one.of.round {
        pricer.round(&mut account.lines, round, currency)?;
    }
    Ok(account)
}

struct Pricer<'a, 'w, 'm> {
    meter: &'m Meter<'a, 'w>,
    one: &'m Priced<'a>,
    world: &'m World<'a>,
}

impl Pricer<'_, '_, '_> {
    /// Base things (× seconds) in one unit of a line's rate.
    fn unit_of(&self, line: &Line) -> Q {
        match self.one.rates.get(line.rate).map(|rate| &rate.per) {
            Some(Per::Quantity(per)) => per.base(&self.meter.sizes, &line.month),
            _ => Q::one(),
        }
    }

    fn units(&self, lines: &mut [Line]) {
        for line in lines {
            line.units = &line.rounded / self.unit_of(line);
        }
    }

    fn key(&self, line: &Line, scope: Scope, reset: Reset) -> Result<PoolKey, NoValue> {
        let (resource, region) = match (scope, line.resource) {
            (Scope::Resource, resource) => (resource, String::new()),
            (Scope::Region, Some(resource)) => {
                (None, self.world.case.resources.get(resource).map(|one| one.region.clone()).unwrap_or_default())
            }
            _ => (None, String::new()),
        };
        let zone = self.meter.zone();
        let start = line.span.map(|span| span.0);
        let when = match (reset, start) {
            (Reset::Period, _) => None,
            // Lines without instants are one month together; a day they cannot name.
            (Reset::Month, start) => start.map(|at| month_of(at, zone)),
            (Reset::Day, Some(at)) => Some(day_of(at, zone)),
            (Reset::Day, None) => {
                return Err(NoValue::new(Why::NoInstant, format!("a daily limit of \"{}\"", self.one.of.id)));
            }
        };
        Ok((resource, region, when))
    }

    /// Lines by pool, each pool in the order of time.
    fn pools<'l>(
        &self,
        lines: &'l mut [Line],
        scope: Scope,
        reset: Reset,
    ) -> Result<BTreeMap<PoolKey, Vec<&'l mut Line>>, NoValue> {
        let mut pools: BTreeMap<PoolKey, Vec<&mut Line>> = BTreeMap::new();
        for line in lines {
            pools.entry(self.key(line, scope, reset)?).or_default().push(line);
        }
        for pool in pools.values_mut() {
            pool.sort_by_key(|line| line.span);
        }
        Ok(pools)
    }

    /// No more time of a calendar month than the cap, for each resource.
    fn cap_hours(&self, lines: &mut [Line]) {
        let MonthBasis::Capped(most) = self.meter.basis() else { return };
        if !self.one.rates.iter().any(|rate| rate.per().is_some_and(|per| per.unit.has_month())) {
            return;
        }
        let mut left: BTreeMap<(Option<usize>, Option<NaiveDate>), Q> = BTreeMap::new();
        for line in lines {
            let month = line.span.map(|span| month_of(span.0, self.meter.zone()));
            let left = left.entry((line.resource, month)).or_insert_with(|| most.clone());
            let taken = line.billed_secs.clone().min(left.clone());
            if !line.billed_secs.is_zero() {
                let share = &taken / &line.billed_secs;
                line.units *= &share;
                line.rounded *= &share;
                line.billed_secs.clone_from(&taken);
            }
            *left -= taken;
        }
    }

    /// A month that is only begun, in full: one unit a month for each resource, whatever its part.
    fn full_months(&self, lines: &mut [Line]) {
        let is_full = match (self.one.of.partial_month, &self.one.of.month) {
            (Some(stated), _) => stated == PartialMonth::Full,
            (None, Some(_)) => false,
            (None, None) => self.meter.reading.partial == PartialMonth::Full,
        };
        let is_flat = self
            .one
            .rates
            .iter()
            .all(|rate| rate.per().is_some_and(|per| per.unit.has_month() && per.unit.thing == Thing::One));
        if !is_full || !is_flat {
            return;
        }
        let mut pools: BTreeMap<(Option<usize>, Option<At>), Vec<&mut Line>> = BTreeMap::new();
        for line in lines {
            pools.entry((line.resource, line.month_at)).or_default().push(line);
        }
        for pool in pools.values_mut() {
            let total = pool.iter().fold(Q::zero(), |sum, line| sum + &line.units);
            if total.is_positive() {
                // A length without instants may be several months: each begun one counts.
                let months = if pool.iter().any(|line| line.span.is_some()) { Q::one() } else { total.ceil() };
                for line in pool {
                    line.units = &line.units * &months / &total;
                }
            }
        }
    }

    /// Takes what is free off the units. Gives who shared it.
    fn allowance(&self, lines: &mut [Line]) -> Result<Vec<Sharers>, NoValue> {
        let Some(allowance) = &self.one.of.allowance else { return Ok(Vec::new()) };
        let mut free = allowance.amount.clone();
        if let Some(name) = &allowance.times_of {
            let other = self.world.component(name).and_then(|idx| self.world.components.get(idx));
            let times = other
                .and_then(|other| other.of.quantity.as_ref())
                .ok_or_else(|| NoValue::new(Why::NotRecorded, format!("the quantity of \"{name}\"")))?;
            // "1 GB for each GB": the multiple counts in the unit of the allowance.
            let multiple = if times.unit.thing == free.unit.thing {
                times.things(&self.meter.sizes) / free.unit.things(&self.meter.sizes)
            } else {
                times.number.clone()
            };
            free.number *= multiple;
        }
        for rate in &self.one.rates {
            if rate.per().is_some_and(|per| per.unit.thing != free.unit.thing) {
                let about = format!("the allowance of \"{}\" is in another unit than its price", self.one.of.id);
                return Err(NoValue::new(Why::UnknownUnit, about));
            }
        }
        let until = self.one.allowance_until;
        let gone = |at: Option<At>| matches!((until, at), (Some(until), Some(at)) if until <= at);
        let is_level = self.one.rates.iter().any(super::world::Rate::is_over_time)
            && free.unit.time.is_none()
            && free.unit.thing != Thing::One;
        if is_level {
            // So much is free at every time.
            let free = free.things(&self.meter.sizes);
            for line in lines.iter_mut().filter(|line| !gone(line.span.map(|span| span.0))) {
                let share =
                    if line.size.is_zero() { Q::zero() } else { (&line.size - &free).max(Q::zero()) / &line.size };
                line.units *= share;
            }
            let n_resources = distinct(lines.iter().map(|line| line.resource));
            return if n_resources > 1 && allowance.scope != Scope::Resource {
                Err(NoValue::new(Why::SharedSplit, format!("the allowance of \"{}\"", self.one.of.id)))
            } else {
                Ok(Vec::new())
            };
        }
        let mut shared = Vec::new();
        let by_use = self.one.of.split == Some(Split::ByUse);
        let sizes = &self.meter.sizes;
        let per: Vec<Option<Quantity>> = self.one.rates.iter().map(|rate| rate.per().cloned()).collect();
        for pool in self.pools(lines, allowance.scope, allowance.reset)?.values_mut() {
            shared.push(pool.iter().map(|line| line.resource).collect());
            let units = |line: &Line| {
                let per = per.get(line.rate).cloned().flatten();
                per.map_or_else(Q::one, |per| free.base(sizes, &line.month) / per.base(sizes, &line.month))
            };
            let total = pool.iter().fold(Q::zero(), |sum, line| sum + &line.units);
            let mut left = Q::one();
            for line in pool.iter_mut().filter(|line| !gone(line.span.map(|span| span.0))) {
                let whole_free = units(line);
                if whole_free.is_zero() || line.units.is_zero() {
                    continue;
                }
                let ours = if by_use { &whole_free * &line.units / &total } else { &whole_free * &left };
                let taken = ours.min(line.units.clone());
                line.units -= &taken;
                if !by_use {
                    left -= taken / whole_free;
                }
            }
        }
        Ok(shared)
    }

    /// Units to amounts. Gives who shared a tier table.
    fn amounts(&self, lines: &mut [Line]) -> Result<Vec<Sharers>, NoValue> {
        let tiers = &self.one.tiers;
        let Some(table) = &self.one.of.tiers else {
            for line in lines {
                let price = self.one.rates.get(line.rate).map_or_else(Q::zero, |rate| rate.amount.clone());
                line.amount = &line.units * price;
            }
            return Ok(Vec::new());
        };
        let is_over_time = self.one.rates.iter().any(super::world::Rate::is_over_time);
        let bounds = |quantity: &Quantity| quantity.unit.time.is_none();
        let is_level = is_over_time && tiers.iter().filter_map(|tier| tier.up_to.as_ref()).all(bounds);
        let missing = || NoValue::new(Why::MissingPrice, format!("\"{}\" beyond its last tier", self.one.of.id));
        if is_level {
            if distinct(lines.iter().map(|line| line.resource)) > 1 && table.scope != Scope::Resource {
                return Err(NoValue::new(Why::SharedSplit, format!("the tiers of \"{}\"", self.one.of.id)));
            }
            for line in lines {
                if line.size.is_zero() {
                    continue;
                }
                // The size climbs the tiers; each part stands for the whole time.
                let bound = |quantity: &Quantity| quantity.things(&self.meter.sizes);
                let parts = climb(tiers, &Q::zero(), &line.size, table.kind, &bound).ok_or_else(missing)?;
                let price = parts.iter().fold(Q::zero(), |sum, (size, price)| sum + size * price) / &line.size;
                line.amount = &line.units * price;
            }
            return Ok(Vec::new());
        }
        let mut shared = Vec::new();
        for pool in self.pools(lines, table.scope, table.reset)?.values_mut() {
            shared.push(pool.iter().map(|line| line.resource).collect());
            let Some(first) = pool.first() else { continue };
            let per = self.one.rates.first().and_then(super::world::Rate::per).cloned();
            let Some(per) = per else { continue };
            let month = first.month.clone();
            let sizes = &self.meter.sizes;
            let bound = |quantity: &Quantity| quantity.base(sizes, &month) / per.base(sizes, &month);
            let total = pool.iter().fold(Q::zero(), |sum, line| sum + &line.units);
            let all = climb(tiers, &Q::zero(), &total, table.kind, &bound).ok_or_else(missing)?;
            if table.kind == TierKind::Volume || self.one.of.split == Some(Split::ByUse) {
                let amount = all.iter().fold(Q::zero(), |sum, (units, price)| sum + units * price);
                for line in pool.iter_mut().filter(|line| !line.units.is_zero()) {
                    line.amount = &amount * &line.units / &total;
                }
                continue;
            }
            let mut passed = Q::zero();
            for line in pool {
                let parts = climb(tiers, &passed, &line.units, table.kind, &bound).ok_or_else(missing)?;
                line.amount = parts.iter().fold(Q::zero(), |sum, (units, price)| sum + units * price);
                passed += &line.units;
            }
        }
        Ok(shared)
    }

    /// A least or a most amount of each pool. Gives who shares it.
    fn limit(&self, lines: &mut [Line], limit: &Limit, is_floor: bool) -> Result<Vec<Sharers>, NoValue> {
        let bound = &limit.amount.0.amount;
        let mut shared = Vec::new();
        let by_use = self.one.of.split == Some(Split::ByUse);
        for pool in self.pools(lines, limit.scope, limit.each)?.values_mut() {
            shared.push(pool.iter().map(|line| line.resource).collect());
            let total = pool.iter().fold(Q::zero(), |sum, line| sum + &line.amount);
            if is_floor && total < *bound {
                if by_use && total.is_positive() {
                    pool.iter_mut().for_each(|line| line.amount = &line.amount * bound / &total);
                } else if let Some(last) = pool.last_mut() {
                    last.amount += bound - &total;
                }
            }
            if !is_floor && total > *bound {
                let mut left = bound.clone();
                for line in pool {
                    line.amount =
                        if by_use { &line.amount * bound / &total } else { line.amount.clone().min(left.clone()) };
                    left -= &line.amount;
                }
            }
        }
        Ok(shared)
    }

    /// Rounds money where the provider does; what rounding adds goes to the last line of what was rounded.
    fn round(&self, lines: &mut [Line], round: MoneyRounding, currency: Currency) -> Result<(), NoValue> {
        let places = round.places.unwrap_or_else(|| minor_units(currency));
        let mut groups: BTreeMap<GroupKey, Vec<&mut Line>> = BTreeMap::new();
        for line in lines {
            let key = match round.each {
                Each::Session => (line.resource, line.run, None),
                Each::Day => (line.resource, 0, self.key(line, Scope::Resource, Reset::Day)?.2),
                Each::Month => (line.resource, 0, self.key(line, Scope::Resource, Reset::Month)?.2),
                Each::Period => (None, 0, None),
            };
            groups.entry(key).or_default().push(line);
        }
        for group in groups.values_mut() {
            let total = group.iter().fold(Q::zero(), |sum, line| sum + &line.amount);
            let extra = round_places(&total, places, round.mode) - total;
            if let Some(last) = group.last_mut() {
                last.amount += extra;
            }
        }
        Ok(())
    }
}

/// Decimals of a currency's smallest unit.
pub(super) fn minor_units(currency: Currency) -> u32 {
    u32::from(currency.exponent().unwrap_or(2))
}

fn distinct(resources: impl Iterator<Item = Option<usize>>) -> usize {
    resources.collect::<BTreeSet<_>>().len()
}

/// The parts of `units` that lie in each tier after `passed` came before, with their prices; `None` beyond the last one.
fn climb(tiers: &[Tier], passed: &Q, units: &Q, kind: TierKind, bound: &dyn Fn(&Quantity) -> Q) -> Option<Vec<(Q, Q)>> {
    if kind == TierKind::Volume {
        let reached = passed + units;
        let tier = tiers.iter().find(|tier| tier.up_to.as_ref().is_none_or(|up_to| reached <= bound(up_to)))?;
        return Some(vec![(units.clone(), tier.price.clone())]);
    }
    let mut out = Vec::new();
    let mut at = passed.clone();
    let mut left = units.clone();
    for tier in tiers {
        if left.is_zero() {
            break;
        }
        let room = match &tier.up_to {
            Some(up_to) => (bound(up_to) - &at).max(whole(0)),
            None => left.clone(),
        };
        let part = room.min(left.clone());
        if part.is_positive() {
            at += &part;
            left -= &part;
            out.push((part, tier.price.clone()));
        }
    }
    left.is_zero().then_some(out)
}
