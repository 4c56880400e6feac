//! Amounts out of the books: what is chosen, the check that nothing is covered twice, currency, tax and rounding.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use iso_currency::Currency;
use num_traits::{One as _, Zero as _};

use super::answer::{NoValue, Why};
use super::calendar::{At, Span, date, day_span, meet, month, month_span, secs, zone};
use super::case::{ChargeKind, MoneyRounding, Tax, TaxOn};
use super::ledger::{Entry, Kind, Ledger, Owner, share_of};
use super::number::{Q, round_places};
use super::price::minor_units;
use super::question::{Amounts, Basis, Origin, TaxPart};
use super::world::World;

/// An amount of one book with everything that says whether another may be added to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sum {
    pub value: Q,
    pub currency: Option<Currency>,
    pub basis: Basis,
    pub owners: Vec<Owner>,
    pub resources: Vec<usize>,
    pub window: Option<Span>,
    pub states: Vec<String>,
}

/// How tax is read where the case does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TaxReading {
    pub on: TaxOn,
    pub reclaimable: bool,
}

/// The books and what they are read with.
pub(super) struct Reader<'a, 'w> {
    pub world: &'w World<'a>,
    pub ledger: &'w Ledger,
    pub tax: TaxReading,
}

impl Reader<'_, '_> {
    /// The window that a question names.
    pub(super) fn window(&self, ask: &Amounts) -> Result<Option<Span>, NoValue> {
        window(self.world, ask).map_err(|text| NoValue::new(Why::NoInstant, text))
    }

    /// Who is chosen.
    pub(super) fn owners(&self, ask: &Amounts) -> Vec<Owner> {
        let case = self.world.case;
        let components = (0..case.components.len()).map(Owner::Component);
        let commitments = (0..case.commitments.len()).map(Owner::Commitment);
        let charges = (0..case.charges.len()).map(Owner::Charge);
        if ask.of.is_empty() {
            let default = if case.components.is_empty() { Origin::Both } else { Origin::Plan };
            let with_top_ups = case.wallet.is_some() && ask.basis == Basis::Cash;
            let mut out: Vec<Owner> = match ask.source.unwrap_or(default) {
                Origin::Plan => components.chain(commitments).collect(),
                Origin::Bill => charges.collect(),
                Origin::Both => components.chain(commitments).chain(charges).collect(),
            };
            if with_top_ups {
                out.push(Owner::TopUp);
            }
            return out;
        }
        let is_named = |name: &str| ask.of.iter().any(|one| one == name);
        let plan: Vec<(Owner, &str)> = components
            .zip(case.components.iter().map(|one| one.id.as_str()))
            .chain(commitments.zip(case.commitments.iter().map(|one| one.id.as_str())))
            .filter(|(_, id)| is_named(id))
            .collect();
        // Components are the plan and charges the bill, whatever they are called: a name that both have is the plan's
        // unless the bill is asked for, and the two are added only when both are.
        let is_planned = |name: &str| ask.source.is_none() && plan.iter().any(|(_, id)| *id == name);
        let billed = charges
            .zip(&case.charges)
            .filter(|(_, one)| [&one.id, &one.bucket].into_iter().any(|name| is_named(name) && !is_planned(name)));
        let billed = billed.map(|(owner, _)| owner);
        match ask.source {
            Some(Origin::Plan) => plan.iter().map(|(owner, _)| *owner).collect(),
            Some(Origin::Bill) => billed.collect(),
            Some(Origin::Both) | None => plan.iter().map(|(owner, _)| *owner).chain(billed).collect(),
        }
    }

    pub(super) fn resources(&self, names: &[String]) -> Vec<usize> {
        names.iter().filter_map(|name| self.world.case.resources.iter().position(|one| one.id == *name)).collect()
    }

    /// The chosen entries, each with the share of it that lies in the window.
    pub(super) fn entries(&self, ask: &Amounts, owners: &[Owner]) -> Result<Vec<(Entry, Q)>, NoValue> {
        let window = self.window(ask)?;
        let resources = self.resources(&ask.resources);
        let book = match ask.basis {
            Basis::Accrual => &self.ledger.accrual.0,
            Basis::Cash => &self.ledger.cash.0,
        };
        let mut out = Vec::new();
        for entry in book {
            let is_kind = ask.kinds.is_empty() || matches!(entry.kind, Kind::Bill(kind) if ask.kinds.contains(&kind));
            let is_ours = owners.contains(&entry.owner)
                && is_kind
                && (resources.is_empty() || entry.resource.is_some_and(|one| resources.contains(&one)))
                && (ask.states.is_empty() || ask.states.contains(&entry.state))
                && (ask.work.is_empty() || entry.work.is_some_and(|work| ask.work.contains(&work)))
                && (ask.attempts.is_empty() || entry.attempt.is_some_and(|attempt| ask.attempts.contains(&attempt)));
            if !is_ours || entry.amount.is_zero() {
                continue;
            }
            let share = match window {
                Some(window) => {
                    share_of(entry.span, window).map_err(|none| NoValue { about: self.name(entry.owner), ..none })?
                }
                None => Q::one(),
            };
            if !share.is_zero() {
                out.push((entry.clone(), share));
            }
        }
        Ok(out)
    }

    /// What keeps the chosen components from having a sum.
    pub(super) fn refuse(&self, ask: &Amounts, owners: &[Owner]) -> Option<NoValue> {
        let components: Vec<usize> = owners
            .iter()
            .filter_map(|owner| if let Owner::Component(idx) = owner { Some(*idx) } else { None })
            .collect();
        let window = self.window(ask).ok().flatten();
        if let Some(both) = self.world.overlap(&components, window) {
            return Some(NoValue::new(Why::Overlap, both));
        }
        for idx in &components {
            match self.ledger.accounts.get(*idx) {
                Some(Err(none)) => return Some(none.clone()),
                Some(Ok(account)) if !ask.resources.is_empty() => {
                    let chosen = self.resources(&ask.resources);
                    let is_ours = |one: &Option<usize>| one.is_some_and(|one| chosen.contains(&one));
                    // A pool is asked for whole, or not at all.
                    if account.shared.iter().any(|pool| pool.iter().any(is_ours) && !pool.iter().all(is_ours)) {
                        let name = self.name(Owner::Component(*idx));
                        return Some(NoValue::new(Why::SharedSplit, format!("{name}, state how it is split")));
                    }
                }
                _ => {}
            }
        }
        owners.iter().find_map(|owner| match owner {
            Owner::Commitment(idx) => self.ledger.broken.get(idx).cloned(),
            _ => None,
        })
    }

    pub(super) fn name(&self, owner: Owner) -> String {
        let case = self.world.case;
        let id = match owner {
            Owner::Component(idx) => case.components.get(idx).map(|one| one.id.as_str()),
            Owner::Commitment(idx) => case.commitments.get(idx).map(|one| one.id.as_str()),
            Owner::Charge(idx) => {
                case.charges.get(idx).map(|one| if one.id.is_empty() { one.bucket.as_str() } else { one.id.as_str() })
            }
            Owner::TopUp => Some("top-up"),
        };
        format!("\"{}\"", id.unwrap_or_default())
    }

    /// The amount that a question chooses.
    pub(super) fn sum(&self, ask: &Amounts) -> Result<Sum, NoValue> {
        let owners = self.owners(ask);
        let counts = |owner: &Owner| match owner {
            Owner::Component(idx) => self.world.components.get(*idx).is_some_and(super::world::Priced::counts),
            _ => true,
        };
        // What another component includes costs nothing by itself; a whole offer of such parts has no price.
        if !owners.iter().any(counts) && (owners.is_empty() || ask.of.is_empty()) {
            let why = if owners.is_empty() { Why::NotRecorded } else { Why::MissingPrice };
            return Err(NoValue::new(why, "nothing is priced"));
        }
        let refused = self.refuse(ask, &owners);
        if let Some(none) = refused.as_ref().filter(|none| none.why == Why::Overlap) {
            return Err(none.clone());
        }
        let made = self.priced(ask, &owners);
        match (refused, made) {
            (None, made) => made,
            // Then not even the priced part has a sum.
            (Some(_), Err(none)) if none.why == Why::MixedCurrency => Err(none),
            (Some(mut none), made) => {
                // What is priced is a lower bound; what may lower it again, such as a credit, is in it already.
                let is_priced = |owner: &Owner| match owner {
                    Owner::Component(idx) => counts(owner) && matches!(self.ledger.accounts.get(*idx), Some(Ok(_))),
                    _ => true,
                };
                // What is shared may be all another's: then there is no bound either.
                let has_priced = none.why != Why::SharedSplit && owners.iter().any(is_priced);
                // What a commitment would have covered is booked at its list price while the commitment cannot be
                // read: such a sum is no lower bound.
                let is_bound = has_priced && self.ledger.broken.is_empty();
                none.at_least = made.ok().filter(|_| is_bound).map(|sum| sum.value);
                Err(none)
            }
        }
    }

    /// The sum of what is priced among the owners.
    fn priced(&self, ask: &Amounts, owners: &[Owner]) -> Result<Sum, NoValue> {
        let mut currency = ask.currency.map(|code| code.0);
        let convert_to = currency;
        let mut lines: BTreeMap<(Owner, usize), (Q, bool)> = BTreeMap::new();
        let window = self.window(ask)?;
        for (nth, (entry, share)) in self.entries(ask, owners)?.into_iter().enumerate() {
            let amount = &entry.amount * &share;
            let amount = match convert_to {
                Some(to) => self.converted(&entry, &share, to, window)?,
                None => {
                    let first = *currency.get_or_insert(entry.currency);
                    if first != entry.currency {
                        let about = format!("{} and {}", first.code(), entry.currency.code());
                        return Err(NoValue::new(Why::MixedCurrency, about));
                    }
                    amount
                }
            };
            // A component is one line of the sum; of a bill each line is one.
            let key = (entry.owner, if matches!(entry.owner, Owner::Charge(_)) { nth } else { 0 });
            let is_tax = matches!(entry.kind, Kind::Bill(ChargeKind::Tax));
            let line = lines.entry(key).or_insert_with(|| (Q::zero(), is_tax));
            line.0 += amount;
        }
        let currency = currency.or(self.world.case.currency.map(|code| code.0));
        let places = |round: MoneyRounding| round.places.unwrap_or_else(|| currency.map_or(2, minor_units));
        if let Some(round) = ask.round_each {
            lines.values_mut().for_each(|line| line.0 = round_places(&line.0, places(round), round.mode));
        }
        let mut value = self.taxed(ask, &lines, &places);
        if let Some(round) = ask.round {
            value = round_places(&value, places(round), round.mode);
        }
        Ok(Sum {
            value,
            currency,
            basis: ask.basis,
            owners: owners.to_vec(),
            resources: self.resources(&ask.resources),
            window,
            states: ask.states.clone(),
        })
    }

    /// An entry in another currency: each part of its time by the rate that holds then.
    fn converted(&self, entry: &Entry, share: &Q, to: Currency, window: Option<Span>) -> Result<Q, NoValue> {
        let whole = entry.span.filter(|span| span.0 < span.1);
        let seen = whole.and_then(|span| window.map_or(Some(span), |window| meet(span, window)));
        let Some(seen) = seen else {
            return convert(self.world, &(&entry.amount * share), entry.currency, to, entry.span.map(|span| span.0));
        };
        let mut edges: Vec<At> = self.world.exchange.iter().filter_map(|rate| rate.0).collect();
        edges.retain(|at| seen.0 < *at && *at < seen.1);
        edges.extend([seen.0, seen.1]);
        edges.sort();
        edges.dedup();
        let length = secs(seen.0, seen.1);
        edges.iter().zip(edges.iter().skip(1)).try_fold(Q::zero(), |sum, (from, until)| {
            let part = &entry.amount * share * secs(*from, *until) / &length;
            Ok(sum + convert(self.world, &part, entry.currency, to, Some(*from))?)
        })
    }

    /// The lines with the part of the tax that is asked for.
    fn taxed(
        &self,
        ask: &Amounts,
        lines: &BTreeMap<(Owner, usize), (Q, bool)>,
        places: &dyn Fn(MoneyRounding) -> u32,
    ) -> Q {
        let sum = |only_tax: bool| {
            lines.values().filter(|line| line.1 == only_tax).fold(Q::zero(), |sum, line| sum + &line.0)
        };
        let case = self.world.case;
        // What stands on the bill as a line of its own is tax like any other.
        let listed = sum(true);
        let is_back = |tax: &Tax| tax.reclaimable.unwrap_or(self.tax.reclaimable);
        let listed_is_back = case.tax.as_ref().is_some_and(is_back);
        let mut net = sum(false);
        let mut due = listed.clone();
        let mut stays = if listed_is_back { Q::zero() } else { listed };
        for tax in case.tax.iter().chain(&case.taxes) {
            let is_taxed = |owner: &Owner| {
                let name = self.name(*owner);
                tax.applies_to.is_empty() || tax.applies_to.iter().any(|one| format!("\"{one}\"") == name)
            };
            let taxed: Vec<&Q> =
                lines.iter().filter(|((owner, _), line)| is_taxed(owner) && !line.1).map(|(_, line)| &line.0).collect();
            let made = tax_on(tax, &taxed, tax.on.unwrap_or(self.tax.on), places);
            if tax.included {
                net -= &made;
            }
            if !is_back(tax) {
                stays += &made;
            }
            due += made;
        }
        match (ask.tax, ask.basis) {
            (TaxPart::Only, _) => due,
            (TaxPart::Net, _) => net,
            (TaxPart::Due, Basis::Accrual) => net + stays,
            (TaxPart::Due | TaxPart::Gross, _) => net + due,
        }
    }
}

/// The tax on these lines.
fn tax_on(tax: &Tax, lines: &[&Q], on: TaxOn, places: &dyn Fn(MoneyRounding) -> u32) -> Q {
    let rate = tax.rate.as_ref().map_or_else(Q::zero, |rate| rate.0.clone());
    let share = if tax.included { &rate / (Q::one() + &rate) } else { rate };
    let rounded =
        |value: Q| tax.round.map_or_else(|| value.clone(), |round| round_places(&value, places(round), round.mode));
    match on {
        TaxOn::Sum => rounded(lines.iter().fold(Q::zero(), |sum, line| sum + *line) * share),
        TaxOn::Line => lines.iter().fold(Q::zero(), |sum, line| sum + rounded(*line * &share)),
    }
}

/// The window that a question names.
pub(super) fn window(world: &World<'_>, ask: &Amounts) -> Result<Option<Span>, String> {
    let own: Option<Tz> = ask.zone.as_deref().map(zone).transpose()?;
    let zone = own.or(world.zone);
    let needed = || zone.ok_or_else(|| "a day or month needs a zone".to_owned());
    match (&ask.from, &ask.to, &ask.day, &ask.month) {
        (None, None, None, None) => Ok(None),
        (Some(from), Some(to), None, None) => {
            let span: (At, At) = (from.at(zone)?, to.at(zone)?);
            if span.1 < span.0 { Err(format!("\"{}\" is before \"{}\"", to.text, from.text)) } else { Ok(Some(span)) }
        }
        (None, None, Some(day), None) => Ok(Some(day_span(date(day)?, needed()?))),
        (None, None, None, Some(text)) => Ok(Some(month_span(month(text)?, needed()?))),
        _ => Err("a window is from and to, or a day, or a month".to_owned()),
    }
}

/// An amount in another currency by the rate of its day; the rate keeps its direction and is never turned around first.
pub(super) fn convert(
    world: &World<'_>,
    amount: &Q,
    from: Currency,
    to: Currency,
    at: Option<At>,
) -> Result<Q, NoValue> {
    if from == to {
        return Ok(amount.clone());
    }
    let fits = |one: Currency, is: Currency| (one, is) == (from, to) || (one, is) == (to, from);
    let rates = world.exchange.iter().filter(|(_, one, _, is)| fits(*one, *is));
    let missing = |why: &str| NoValue::new(Why::MissingRate, format!("{} to {}{why}", from.code(), to.code()));
    let mut best: Option<(Option<At>, Currency, &Q)> = None;
    for (on, one, rate, _) in rates {
        let holds = match (on, at) {
            (None, _) => true,
            (Some(on), Some(at)) => *on <= at,
            (Some(_), None) => return Err(missing(": the rates are dated, the amount is not")),
        };
        if holds && best.is_none_or(|(before, ..)| before <= *on) {
            best = Some((*on, *one, rate));
        }
    }
    match best {
        Some((_, one, rate)) if one == from => Ok(amount * rate),
        Some((_, _, rate)) => Ok(amount / rate),
        None => Err(missing("")),
    }
}
