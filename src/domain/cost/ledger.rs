//! The two books of a case: what it cost the work (accrual) and what was paid (cash). Each is complete for itself; they
//! are different types, and nothing adds one to the other.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use iso_currency::Currency;
use num_traits::{One as _, Signed as _, Zero as _};

use super::answer::{NoValue, Why};
use super::calendar::{At, Span, anniversary, meet, month_of, month_span, secs};
use super::case::{ChargeKind, Paid, Work};
use super::field::MonthBasis;
use super::meter::{Line, Reading};
use super::number::{Q, whole};
use super::price::{Account, price};
use super::unit::{Sizes, Thing};
use super::world::{Committed, Rate, World};

/// Who an entry belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Component(usize),
    Commitment(usize),
    Charge(usize),
    TopUp,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Used at its own price.
    Use,
    /// Used, and paid for by this commitment.
    Used(usize),
    /// Committed and not used.
    Unused,
    /// What a spend commitment asks for at its end.
    Shortfall,
    /// A payment for a commitment or into an account.
    Payment,
    /// A line of a bill.
    Bill(ChargeKind),
}

/// One amount at one time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub owner: Owner,
    pub kind: Kind,
    pub resource: Option<usize>,
    pub span: Option<Span>,
    pub state: String,
    pub work: Option<Work>,
    pub attempt: Option<u32>,
    pub amount: Q,
    pub currency: Currency,
    /// Things × seconds that a commitment's entry stands for.
    pub quantity: Q,
}

/// Entries of what the work cost.
#[derive(Debug, Clone, Default)]
pub(super) struct AccrualBook(pub Vec<Entry>);

/// Entries of what was paid.
#[derive(Debug, Clone, Default)]
pub(super) struct CashBook(pub Vec<Entry>);

/// Everything that a case comes to under one reading.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    pub accounts: Vec<Result<Account, NoValue>>,
    pub accrual: AccrualBook,
    pub cash: CashBook,
    /// Why a commitment has no amount.
    pub broken: BTreeMap<usize, NoValue>,
}

impl Ledger {
    pub(super) fn of(world: &World<'_>, reading: &Reading) -> Self {
        let accounts = price(world, reading);
        let mut books = Books { world, accrual: Vec::new(), cash: Vec::new(), uncovered: BTreeMap::new() };
        let mut broken = BTreeMap::new();
        books.start(&accounts);
        for (idx, one) in world.commitments.iter().enumerate().filter(|(_, one)| one.spend.is_none()) {
            if let Err(none) = books.reserve(idx, one, &accounts, reading) {
                broken.insert(idx, none);
            }
        }
        books.uncovered_use(&accounts);
        books.charges();
        for (idx, one) in world.commitments.iter().enumerate().filter(|(_, one)| one.spend.is_some()) {
            if let Err(none) = books.spend(idx, one, &accounts) {
                broken.insert(idx, none);
            }
        }
        books.wallet();
        Self { accounts, accrual: AccrualBook(books.accrual), cash: CashBook(books.cash), broken }
    }
}

/// What a commitment covered, and where and how much of it stayed unused.
struct Swept<'l> {
    used: Vec<(usize, &'l Line, Option<Span>, Q)>,
    unused: Vec<(Option<Span>, Q)>,
}

/// A part of a line: the share of it that no commitment has paid for yet.
#[derive(Debug, Clone)]
struct Open {
    span: Option<Span>,
    share: Q,
}

struct Books<'a, 'w> {
    world: &'w World<'a>,
    accrual: Vec<Entry>,
    cash: Vec<Entry>,
    /// Component and line to the parts of it that are still open.
    uncovered: BTreeMap<(usize, usize), Vec<Open>>,
}

impl Books<'_, '_> {
    fn start(&mut self, accounts: &[Result<Account, NoValue>]) {
        for (idx, account) in accounts.iter().enumerate() {
            for (nth, line) in account.iter().flat_map(|account| &account.lines).enumerate() {
                self.uncovered.insert((idx, nth), vec![Open { span: line.span, share: Q::one() }]);
            }
        }
    }

    /// A reservation: paid for its whole term, its price laid on who used it and on what stayed unused.
    fn reserve(
        &mut self,
        idx: usize,
        one: &Committed<'_>,
        accounts: &[Result<Account, NoValue>],
        reading: &Reading,
    ) -> Result<(), NoValue> {
        let sizes = Sizes { tera: reading.tera, ..Sizes::default() };
        let quantity = one.of.quantity.as_ref();
        let size = quantity.map_or_else(Q::one, |quantity| quantity.things(&sizes));
        let zone = self.world.zone.unwrap_or(Tz::UTC);
        let payments = match &one.rate {
            Some(rate) => recurring(one, rate, &size, &sizes, zone)?,
            None => Vec::new(),
        };
        let upfront = one.upfront.as_ref().map_or_else(Q::zero, |(amount, _)| amount.clone());
        let currency =
            one.upfront.as_ref().map(|(_, currency)| *currency).or(one.rate.as_ref().map(|rate| rate.currency));
        let currency = currency.ok_or_else(|| NoValue::new(Why::MissingPrice, one.of.id.as_str()))?;
        if let (Some((_, upfront)), Some(rate)) = (&one.upfront, &one.rate)
            && *upfront != rate.currency
        {
            return Err(NoValue::new(Why::MixedCurrency, one.of.id.as_str()));
        }
        let owner = Owner::Commitment(idx);
        let entry = |kind, span, amount: Q| Entry {
            owner,
            kind,
            resource: one.bound_to,
            span,
            state: String::new(),
            work: None,
            attempt: None,
            amount,
            currency,
            quantity: Q::zero(),
        };
        let at = |at: Option<At>| at.map(|at| (at, at));
        if !upfront.is_zero() {
            self.cash.push(entry(Kind::Payment, at(one.term.map(|term| term.0)), upfront.clone()));
        }
        let recurring = payments.iter().fold(Q::zero(), |sum, (_, amount)| sum + amount);
        for (span, amount) in payments.into_iter().filter(|(_, amount)| !amount.is_zero()) {
            let span = match one.of.paid {
                Paid::AsUsed => span,
                Paid::InAdvance => at(span.map(|span| span.0)),
                Paid::InArrears => at(span.map(|span| span.1)),
            };
            self.cash.push(entry(Kind::Payment, span, amount));
        }
        let total = upfront + recurring;
        let committed = &size * &one.secs;
        if committed.is_zero() {
            return Ok(());
        }
        let price = &total / &committed;
        if let Some(meter) = &one.of.used {
            let month = whole(2_592_000);
            let records: Vec<_> = self.world.meters.iter().filter(|record| record.meter == meter).collect();
            if records.is_empty() {
                return Err(NoValue::new(Why::NotRecorded, meter.as_str()));
            }
            let used = records.iter().fold(Q::zero(), |sum, record| sum + record.quantity.base(&sizes, &month));
            let used = used.min(committed.clone());
            let unused = &committed - &used;
            self.accrual.push(Entry { quantity: used.clone(), ..entry(Kind::Used(idx), one.term, &used * &price) });
            self.accrual.push(Entry { quantity: unused.clone(), ..entry(Kind::Unused, one.term, &unused * &price) });
            return Ok(());
        }
        let ours: Vec<(usize, usize, &Line)> = one
            .applies_to
            .iter()
            .filter_map(|component| Some((*component, accounts.get(*component)?.as_ref().ok()?)))
            .flat_map(|(component, account)| {
                account.lines.iter().enumerate().map(move |(nth, line)| (component, nth, line))
            })
            .filter(|(_, _, line)| one.bound_to.is_none() || line.resource == one.bound_to)
            .collect();
        // What is used must be counted in what is reserved.
        let thing = quantity.map_or(Thing::One, |quantity| quantity.unit.thing.clone());
        for component in &one.applies_to {
            let own = self.world.components.get(*component).and_then(|other| other.of.quantity.as_ref());
            let own = own.map_or(Thing::One, |quantity| quantity.unit.thing.clone());
            if thing != Thing::One && own != Thing::One && own != thing {
                return Err(NoValue::new(Why::UnknownUnit, format!("what \"{}\" reserves", one.of.id)));
            }
        }
        let pooled = one.of.pooled || one.term.is_none() || ours.iter().any(|(_, _, line)| line.span.is_none());
        let swept = if pooled {
            let used = self.pool(&ours, one, &committed);
            let rest = used.iter().fold(committed.clone(), |rest, (_, _, _, base)| rest - base);
            Swept { used, unused: vec![(one.term, rest)] }
        } else {
            self.sweep(&ours, one.term, &size)
        };
        for (component, line, span, base) in swept.used {
            self.accrual.push(Entry {
                owner: Owner::Component(component),
                resource: line.resource,
                state: line.state.clone(),
                work: line.work,
                attempt: line.attempt,
                quantity: base.clone(),
                ..entry(Kind::Used(idx), span, &base * &price)
            });
        }
        // What stayed unused, where it did.
        for (span, base) in swept.unused.into_iter().filter(|(_, base)| base.is_positive()) {
            self.accrual.push(Entry { quantity: base.clone(), ..entry(Kind::Unused, span, &base * &price) });
        }
        Ok(())
    }

    /// Hours that can be used at any time of the term: covers lines in their order until none is left.
    fn pool<'l>(
        &mut self,
        ours: &[(usize, usize, &'l Line)],
        one: &Committed<'_>,
        committed: &Q,
    ) -> Vec<(usize, &'l Line, Option<Span>, Q)> {
        let mut left = committed.clone();
        let mut out = Vec::new();
        for (component, nth, line) in ours {
            let within = match (line.span, one.term) {
                (Some(span), Some(term)) if meet(span, term).is_none() => continue,
                (span, _) => span,
            };
            let Some(open) = self.uncovered.get_mut(&(*component, *nth)) else { continue };
            let share = open.iter().fold(Q::zero(), |sum, open| sum + &open.share);
            let wants = &line.rounded * &share;
            let taken = wants.clone().min(left.clone());
            if !wants.is_positive() {
                continue;
            }
            left -= &taken;
            let rest = Q::one() - &taken / &wants;
            open.iter_mut().for_each(|open| open.share *= &rest);
            out.push((*component, *line, within, taken));
        }
        out
    }

    /// Capacity at every instant: at most `size` of what runs then is covered, all that runs alike.
    fn sweep<'l>(&mut self, ours: &[(usize, usize, &'l Line)], term: Option<Span>, size: &Q) -> Swept<'l> {
        let mut out = Swept { used: Vec::new(), unused: Vec::new() };
        let Some(term) = term else { return out };
        let mut edges: Vec<At> = vec![term.0, term.1];
        edges.extend(ours.iter().filter_map(|(_, _, line)| line.span).flat_map(|span| [span.0, span.1]));
        // Another commitment may have covered a part of a line already.
        let open = ours.iter().filter_map(|(component, nth, _)| self.uncovered.get(&(*component, *nth))).flatten();
        edges.extend(open.filter_map(|open| open.span).flat_map(|span| [span.0, span.1]));
        edges.retain(|at| term.0 <= *at && *at <= term.1);
        edges.sort();
        edges.dedup();
        for (from, to) in edges.iter().zip(edges.iter().skip(1)) {
            let window = (*from, *to);
            let length = secs(window.0, window.1);
            let runs: Vec<_> =
                ours.iter().filter(|(_, _, line)| line.span.is_some_and(|span| meet(span, window).is_some())).collect();
            let total = runs.iter().fold(Q::zero(), |sum, (component, nth, line)| {
                sum + &line.size * still_open(self.uncovered.get(&(*component, *nth)), line, window)
            });
            if total.is_zero() {
                out.unused.push((Some(window), size * length));
                continue;
            }
            let covered = (size / &total).min(Q::one());
            for (component, nth, line) in runs {
                let Some(open) = self.uncovered.get_mut(&(*component, *nth)) else { continue };
                let share = cover(open, line, window, &covered);
                out.used.push((*component, *line, Some(window), &line.size * &length * share));
            }
            out.unused.push((Some(window), (size - total).max(Q::zero()) * length));
        }
        out
    }

    /// What no commitment covers, at its own price.
    fn uncovered_use(&mut self, accounts: &[Result<Account, NoValue>]) {
        for (idx, account) in accounts.iter().enumerate() {
            let Ok(account) = account else { continue };
            let paid = self.world.components.get(idx).map_or(Paid::AsUsed, |one| one.of.paid);
            for (nth, line) in account.lines.iter().enumerate() {
                for open in self.uncovered.get(&(idx, nth)).into_iter().flatten() {
                    if open.share.is_zero() {
                        continue;
                    }
                    let entry = Entry {
                        owner: Owner::Component(idx),
                        kind: Kind::Use,
                        resource: line.resource,
                        span: open.span,
                        state: line.state.clone(),
                        work: line.work,
                        attempt: line.attempt,
                        amount: &line.amount * &open.share,
                        currency: account.currency,
                        quantity: &line.rounded * &open.share,
                    };
                    let ends =
                        account.lines.iter().filter(|other| (other.run, other.resource) == (line.run, line.resource));
                    let instant = match paid {
                        Paid::AsUsed => entry.span,
                        Paid::InAdvance => ends.filter_map(|other| other.span).map(|span| (span.0, span.0)).min(),
                        Paid::InArrears => ends.filter_map(|other| other.span).map(|span| (span.1, span.1)).max(),
                    };
                    self.cash.push(Entry { span: instant, ..entry.clone() });
                    self.accrual.push(entry);
                }
            }
        }
    }

    fn charges(&mut self) {
        for (idx, (charge, billed)) in self.world.case.charges.iter().zip(&self.world.charges).enumerate() {
            let entry = |span, (amount, currency): &(Q, Currency)| Entry {
                owner: Owner::Charge(idx),
                kind: Kind::Bill(charge.kind),
                resource: billed.resource,
                span,
                state: String::new(),
                work: None,
                attempt: None,
                amount: amount.clone(),
                currency: *currency,
                quantity: Q::zero(),
            };
            // Each line of a bill stays a line: tax and rounding may look at them one by one.
            for _ in 0..charge.times.unwrap_or(1) {
                self.cash.push(entry(billed.at, &billed.billed));
                self.accrual.push(entry(billed.during, &billed.effective));
            }
        }
    }

    /// A sum that will be spent: what is missing at the end of the term is charged then.
    fn spend(&mut self, idx: usize, one: &Committed<'_>, accounts: &[Result<Account, NoValue>]) -> Result<(), NoValue> {
        let Some((least, currency)) = one.spend.clone() else { return Ok(()) };
        if let Some(Err(none)) =
            one.applies_to.iter().filter_map(|idx| accounts.get(*idx)).find(|account| account.is_err())
        {
            return Err(none.clone());
        }
        let is_ours = |entry: &Entry| match entry.owner {
            Owner::Component(idx) => one.applies_to.contains(&idx),
            Owner::Charge(idx) => one.charges.contains(&idx),
            Owner::Commitment(_) | Owner::TopUp => false,
        };
        let mut spent = Q::zero();
        for entry in self.accrual.iter().filter(|entry| is_ours(entry)) {
            if entry.currency != currency {
                return Err(NoValue::new(Why::MixedCurrency, one.of.id.as_str()));
            }
            let part = match (entry.span, one.term) {
                (Some(span), Some(term)) => share_of(Some(span), term)?,
                _ => Q::one(),
            };
            spent += &entry.amount * part;
        }
        let shortfall = (&least - &spent).max(Q::zero());
        let entry = Entry {
            owner: Owner::Commitment(idx),
            kind: Kind::Shortfall,
            resource: None,
            // The fee belongs to the last instant of the term.
            span: one
                .term
                .and_then(|term| term.1.checked_sub_signed(chrono::TimeDelta::nanoseconds(1)).map(|at| (at, at))),
            state: String::new(),
            work: None,
            attempt: None,
            amount: shortfall.clone(),
            currency,
            quantity: Q::zero(),
        };
        self.accrual.push(entry.clone());
        match &one.upfront {
            None => self.cash.push(entry),
            Some((upfront, _)) => {
                // What was paid at the start is not paid again when it is used.
                let start = one.term.map(|term| (term.0, term.0));
                let mut left = upfront.clone();
                let mut ours: Vec<&mut Entry> = self.cash.iter_mut().filter(|entry| is_ours(entry)).collect();
                ours.sort_by_key(|entry| entry.span);
                for entry in ours {
                    let taken = entry.amount.clone().max(Q::zero()).min(left.clone());
                    entry.amount -= &taken;
                    left -= taken;
                }
                let rest = (&shortfall - &left).max(Q::zero());
                self.cash.push(Entry { kind: Kind::Payment, span: start, amount: upfront.clone(), ..entry.clone() });
                self.cash.push(Entry { amount: rest, ..entry });
            }
        }
        Ok(())
    }

    /// With a prepaid account what is used is paid out of it: the cash is what was paid in.
    fn wallet(&mut self) {
        let Some(wallet) = &self.world.case.wallet else { return };
        self.cash.retain(|entry| !matches!(entry.owner, Owner::Component(_) | Owner::Charge(_)));
        for (at, amount, currency) in super::wallet::payments(self.world, wallet, &self.accrual) {
            self.cash.push(Entry {
                owner: Owner::TopUp,
                kind: Kind::Payment,
                resource: None,
                span: at.map(|at| (at, at)),
                state: String::new(),
                work: None,
                attempt: None,
                amount,
                currency,
                quantity: Q::zero(),
            });
        }
    }
}

/// Covers a share of the open parts of a line inside a window, and gives the share of the window that was covered.
fn cover(open: &mut Vec<Open>, line: &Line, window: Span, covered: &Q) -> Q {
    let Some(whole_line) = line.span else { return Q::zero() };
    let length = secs(whole_line.0, whole_line.1);
    let mut out = Vec::new();
    let mut taken = Q::zero();
    for part in open.drain(..) {
        let Some(span) = part.span.and_then(|span| meet(span, window)) else {
            out.push(part);
            continue;
        };
        let Some(own) = part.span else { continue };
        let own_length = secs(own.0, own.1);
        let in_window = &part.share * secs(span.0, span.1) / &own_length;
        let pieces = [(own.0, span.0), (span.1, own.1)];
        for rest in pieces.into_iter().filter(|rest| rest.0 < rest.1) {
            let share = &part.share * secs(rest.0, rest.1) / &own_length;
            out.push(Open { span: Some(rest), share });
        }
        taken += &in_window * covered;
        out.push(Open { span: Some(span), share: in_window * (Q::one() - covered) });
    }
    *open = out;
    // As a share of the whole line's time in the window.
    let window_share = secs(window.0, window.1) / length;
    if window_share.is_zero() { Q::zero() } else { taken / window_share }
}

/// The part of what runs in a window that no commitment covers yet.
fn still_open(open: Option<&Vec<Open>>, line: &Line, window: Span) -> Q {
    let Some(whole_line) = line.span else { return Q::zero() };
    let in_window = open.into_iter().flatten().fold(Q::zero(), |sum, part| {
        let met = part.span.and_then(|span| Some((span, meet(span, window)?)));
        met.map_or(sum.clone(), |(span, met)| sum + &part.share * secs(met.0, met.1) / secs(span.0, span.1))
    });
    in_window * secs(whole_line.0, whole_line.1) / secs(window.0, window.1)
}

/// What the recurring part of a commitment comes to: one payment where it is for hours, one for each month of the term
/// where it is for months.
fn recurring(
    one: &Committed<'_>,
    rate: &Rate,
    size: &Q,
    sizes: &Sizes,
    zone: Tz,
) -> Result<Vec<(Option<Span>, Q)>, NoValue> {
    let Some(per) = rate.per() else { return Ok(Vec::new()) };
    if per.unit.thing != Thing::One
        && one.of.quantity.as_ref().is_some_and(|quantity| quantity.unit.thing != per.unit.thing)
    {
        return Err(NoValue::new(Why::UnknownUnit, format!("the rate of \"{}\"", one.of.id)));
    }
    // A price without a thing is for each of what is committed, as with components.
    let times = if per.unit.thing == Thing::One { size.clone() } else { size / per.unit.things(sizes) };
    let price = &rate.amount * times;
    let time = |month: &Q| per.unit.time.map_or_else(Q::one, |time| time.secs_with(month)) * &per.number;
    match &one.of.month {
        // A month of fixed length is a number of hours like any other.
        Some(MonthBasis::Fixed(month) | MonthBasis::Capped(month)) => {
            Ok(vec![(one.term, price * &one.secs / time(month))])
        }
        _ if !per.unit.has_month() => Ok(vec![(one.term, price * &one.secs / time(&Q::one()))]),
        basis => {
            let term =
                one.term.ok_or_else(|| NoValue::new(Why::NoInstant, format!("the months of \"{}\"", one.of.id)))?;
            let mut out = Vec::new();
            let mut at = term.0;
            while at < term.1 {
                let month = match basis {
                    Some(MonthBasis::Real | MonthBasis::Days) => month_span(month_of(at, zone), zone),
                    // A contract counts its months from its first day.
                    _ => anniversary(at, term.0, zone),
                };
                let to = month.1.min(term.1);
                out.push((Some((at, to)), &price * secs(at, to) / time(&secs(month.0, month.1))));
                if to <= at {
                    break;
                }
                at = to;
            }
            Ok(out)
        }
    }
}

/// The share of a span that lies in a window.
///
/// An instant lies in the window or not; without instants there is no share.
pub(super) fn share_of(span: Option<Span>, window: Span) -> Result<Q, NoValue> {
    let span = span.ok_or_else(|| NoValue::new(Why::NoInstant, "a part of the calendar"))?;
    if span.0 == span.1 {
        return Ok(if window.0 <= span.0 && span.0 < window.1 { Q::one() } else { Q::zero() });
    }
    Ok(meet(span, window).map_or_else(Q::zero, |met| secs(met.0, met.1) / secs(span.0, span.1)))
}
