//! Questions to answers, under every reading of what the case leaves open.

use num_traits::{One as _, Signed as _, Zero as _};

use super::answer::{Answer, NoValue, Why};
use super::basis::{Accrual, Booked, Cash};
use super::calendar::{renewals, secs};
use super::case::{ChargeKind, MoneyRounding, PartialMonth, Plan, TaxOn, Work};
use super::count;
use super::field::{Every, MonthBasis};
use super::ledger::{Entry, Kind, Ledger, Owner, share_of};
use super::meter::{Line, Meter, Reading};
use super::number::{Q, decimal, round_places, whole};
use super::plan::{BlockPrice, Curve, Need, best_mix, crossings, first_whole, hybrid, one_block};
use super::price::minor_units;
use super::question::{
    Amounts, Ask, Basis, Best, Blocks, BreakEven, By, CommitmentOf, CommitmentPart, Diagnostic, Find, HybridOf,
    HybridPart, PlanCost, QuantityOf, QuantityStage, Question, Read, Reconcile, ShareOf, UnitCost, View, WalletPart,
};
use super::sum::{Reader, Sum, TaxReading, convert, window};
use super::unit::{Quantity, Thing};
use super::wallet;
use super::world::{Fault, World};
use crate::domain::money::{Exact, ratio};

/// Names that questions use and the case does not have.
pub(super) fn check(world: &World<'_>) -> Result<(), Fault> {
    let case = world.case;
    for question in &case.questions {
        let wrong =
            |text: String| Fault::new(question.name.as_str(), format!("question \"{}\": {text}", question.name));
        let plan = |id: &str| {
            case.plans
                .iter()
                .any(|one| one.id == id)
                .then_some(())
                .ok_or_else(|| wrong(format!("no plan is named \"{id}\"")))
        };
        let per = |text: &str| outcome_of(text).map(|_| ()).map_err(&wrong);
        let counted = |name: &str| {
            count::NAMES
                .contains(&name)
                .then_some(())
                .ok_or_else(|| wrong(format!("\"{name}\" is no outcome; known are {}", count::NAMES.join(", "))))
        };
        if let Some(chosen) = chosen(&question.ask) {
            for name in &chosen.of {
                let known = world.component(name).is_some()
                    || world.commitment(name).is_some()
                    || case.charges.iter().any(|one| one.id == *name || one.bucket == *name);
                if !known {
                    return Err(wrong(format!("nothing is named \"{name}\"")));
                }
            }
            for name in &chosen.resources {
                if !case.resources.iter().any(|one| one.id == *name) {
                    return Err(wrong(format!("no resource is named \"{name}\"")));
                }
            }
            window(world, &chosen).map_err(&wrong)?;
        }
        if !matches!(question.read.tb, None | Some(1000 | 1024)) {
            return Err(wrong("tb is 1000 or 1024".to_owned()));
        }
        match &question.ask {
            Ask::Quantity(ask) => {
                super::unit::Unit::parse(&ask.unit).map_err(&wrong)?;
            }
            Ask::UnitCost(ask) => per(&ask.per)?,
            Ask::Count(ask) => counted(&ask.of)?,
            Ask::Diagnostic(ask) if ask.view.is_none() => return Err(wrong("it names no view".to_owned())),
            Ask::Commitment(ask) => {
                if world.commitment(&ask.id).is_none() {
                    return Err(wrong(format!("no commitment is named \"{}\"", ask.id)));
                }
                window(world, &commitment_window(ask)).map_err(&wrong)?;
            }
            Ask::BreakEven(ask) => {
                plan(&ask.between.0)?;
                plan(&ask.between.1)?;
            }
            Ask::PlanCost(ask) => plan(&ask.plan)?,
            Ask::Blocks(ask) => plan(&ask.plan)?,
            Ask::Hybrid(ask) => {
                plan(&ask.base)?;
                plan(&ask.peaks)?;
            }
            Ask::SumOf(names) => {
                for name in names {
                    let other = case.questions.iter().find(|one| one.name == *name);
                    match other.map(|one| &one.ask) {
                        None => return Err(wrong(format!("no question is named \"{name}\""))),
                        Some(Ask::SumOf(_)) => return Err(wrong(format!("\"{name}\" is itself a sum"))),
                        Some(_) => {}
                    }
                }
            }
            Ask::Wallet(_) if case.wallet.is_none() => return Err(wrong("the case has no wallet".to_owned())),
            Ask::Renewals(ask) if ask.from.date().is_none() => {
                return Err(wrong("renewals are counted from a date".to_owned()));
            }
            _ => {}
        }
    }
    for one in &case.plans {
        if let Some(unit) = &one.unit_cost {
            outcome_of(&unit.per)
                .map_err(|text| Fault::new(one.id.as_str(), format!("plan \"{}\": {text}", one.id)))?;
            if let Some(name) = unit.of.iter().find(|name| world.component(name).is_none()) {
                return Err(Fault::new(
                    one.id.as_str(),
                    format!("plan \"{}\": no component is named \"{name}\"", one.id),
                ));
            }
            if one.per_unit.is_some() {
                return Err(Fault::new(one.id.as_str(), format!("plan \"{}\" has two prices of a unit", one.id)));
            }
        }
    }
    for one in case.components.iter() {
        use super::case::Driver;
        if let Some(Driver::Count(name) | Driver::Pixels(name) | Driver::Seconds(name)) = &one.driver
            && !count::NAMES.contains(&name.as_str())
        {
            return Err(Fault::new(
                name.as_str(),
                format!("component \"{}\": \"{name}\" is no outcome; known are {}", one.id, count::NAMES.join(", ")),
            ));
        }
        if let Some(
            Driver::Used(meter)
            | Driver::Larger(meter)
            | Driver::Allocated(meter)
            | Driver::PeakOfDay(meter)
            | Driver::P95(meter),
        ) = &one.driver
            && !case.usage.iter().any(|usage| usage.meter == *meter)
        {
            return Err(Fault::new(
                meter.as_str(),
                format!("component \"{}\": no usage is recorded for the meter \"{meter}\"", one.id),
            ));
        }
    }
    Ok(())
}

/// What an amount-like question chooses.
fn chosen(ask: &Ask) -> Option<Amounts> {
    Some(match ask {
        Ask::Amount(ask) | Ask::Tax(ask) => ask.clone(),
        Ask::Quantity(ask) => ask.chosen(),
        Ask::UnitCost(ask) => ask.chosen(),
        Ask::Share(ask) => ask.chosen(),
        Ask::Diagnostic(ask) => ask.chosen(),
        _ => return None,
    })
}

/// Reads "accepted", "1000 accepted", "million output_tokens".
fn outcome_of(text: &str) -> Result<(Q, &str), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (times, name) = match words.as_slice() {
        [name] => (Q::one(), *name),
        ["million", name] => (whole(1_000_000), *name),
        ["thousand", name] => (whole(1000), *name),
        [number, name] => (ratio(decimal(number)?), *name),
        _ => return Err(format!("\"{text}\" is no outcome, as \"accepted\" or \"million output_tokens\"")),
    };
    if !count::NAMES.contains(&name) {
        return Err(format!("\"{name}\" is no outcome; known are {}", count::NAMES.join(", ")));
    }
    if !times.is_positive() {
        return Err(format!("\"{text}\" is for nothing"));
    }
    Ok((times, name))
}

/// Everything that a case's questions are answered from: one ledger for each reading of what it leaves open.
pub(super) struct Answers<'a, 'w> {
    world: &'w World<'a>,
    ledgers: Vec<(Reading, Ledger)>,
}

/// An answer with what it may be added to.
#[derive(Debug, Clone)]
struct Made {
    answer: Answer,
    sum: Option<Sum>,
}

impl<'a, 'w> Answers<'a, 'w> {
    pub(super) fn of(world: &'w World<'a>) -> Self {
        let has_open_month = world.components.iter().any(|one| {
            one.of.month.is_none() && one.rates.iter().any(|rate| rate.per().is_some_and(|per| per.unit.has_month()))
        });
        let hours = |n: i64| MonthBasis::Fixed(whole(n * 3600));
        let bases =
            if has_open_month { vec![hours(720), hours(730), MonthBasis::Real] } else { vec![MonthBasis::Real] };
        let mut readings = Vec::new();
        for month in bases {
            for tera in [1000, 1024] {
                readings.push(Reading { month: month.clone(), partial: PartialMonth::Prorated, tera });
            }
        }
        if readings.len() > 2 {
            readings.push(Reading { month: MonthBasis::Real, partial: PartialMonth::Full, tera: 1000 });
            readings.push(Reading { month: MonthBasis::Real, partial: PartialMonth::Full, tera: 1024 });
        }
        let ledgers = readings.into_iter().map(|reading| (reading.clone(), Ledger::of(world, &reading))).collect();
        Self { world, ledgers }
    }

    /// The answer to a question.
    pub(super) fn answer(&self, question: &Question) -> Answer {
        self.made(question).answer
    }

    fn made(&self, question: &Question) -> Made {
        if let Ask::SumOf(names) = &question.ask {
            return self.sum_of(names);
        }
        let own = self.own_ledgers(&question.read);
        let ledgers: &[(Reading, Ledger)] = own.as_deref().unwrap_or(&self.ledgers);
        let mut answers: Vec<Made> = Vec::new();
        let tax_on = question.read.tax.map_or_else(|| vec![TaxOn::Sum, TaxOn::Line], |on| vec![on]);
        let back = question.read.reclaimable.map_or_else(|| vec![false, true], |back| vec![back]);
        let has_tax = self.world.case.tax.is_some() || !self.world.case.taxes.is_empty();
        for (reading, ledger) in ledgers {
            for on in if has_tax { tax_on.as_slice() } else { &[TaxOn::Sum] } {
                for reclaimable in if has_tax { back.as_slice() } else { &[false] } {
                    let tax = TaxReading { on: *on, reclaimable: *reclaimable };
                    let one = One { reader: Reader { world: self.world, ledger, tax }, reading };
                    answers.push(one.made(&question.ask));
                }
            }
        }
        merge(answers)
    }

    /// Ledgers under the readings that the question itself states; `None` where it states none.
    fn own_ledgers(&self, read: &Read) -> Option<Vec<(Reading, Ledger)>> {
        if read.month.is_none() && read.tb.is_none() && read.partial_month.is_none() {
            return None;
        }
        let mut readings: Vec<Reading> = Vec::new();
        for (reading, _) in &self.ledgers {
            if read.partial_month.is_none() && read.month.is_some() && reading.partial == PartialMonth::Full {
                continue;
            }
            let reading = Reading {
                month: read.month.clone().unwrap_or_else(|| reading.month.clone()),
                partial: read.partial_month.unwrap_or(reading.partial),
                tera: read.tb.unwrap_or(reading.tera),
            };
            if !readings.contains(&reading) {
                readings.push(reading);
            }
        }
        Some(readings.into_iter().map(|reading| (reading.clone(), Ledger::of(self.world, &reading))).collect())
    }

    /// A sum of answers: of one book and one currency, and no time of a component twice.
    fn sum_of(&self, names: &[String]) -> Made {
        let none = |none: NoValue| Made { answer: Answer::None(none), sum: None };
        let mut parts: Vec<(&str, Q, Option<Sum>)> = Vec::new();
        for name in names {
            let Some(question) = self.world.case.questions.iter().find(|one| one.name == *name) else { continue };
            if matches!(question.ask, Ask::Diagnostic(_) | Ask::Share(_) | Ask::UnitCost(_) | Ask::Commitment(_)) {
                return none(NoValue::new(Why::NotAddable, format!("\"{name}\" is a view on what is already counted")));
            }
            let made = self.made(question);
            match made.answer {
                Answer::Number(value) => parts.push((name, value, made.sum)),
                Answer::None(why) => return none(why),
                _ => return none(NoValue::new(Why::NotAddable, format!("\"{name}\" is not one number"))),
            }
        }
        for (nth, (name, _, first)) in parts.iter().enumerate() {
            for (other, _, second) in parts.iter().skip(nth + 1) {
                let (Some(a), Some(b)) = (first, second) else {
                    if first.is_some() != second.is_some() {
                        return none(NoValue::new(
                            Why::NotAddable,
                            format!("\"{name}\" and \"{other}\" are different things"),
                        ));
                    }
                    continue;
                };
                let (one, two) = (a.booked(), b.booked());
                if let (Some(one), Some(two)) = (&one, &two)
                    && std::mem::discriminant(one) != std::mem::discriminant(two)
                {
                    return none(NoValue::new(Why::MixedBasis, format!("\"{name}\" and \"{other}\"")));
                }
                if let (Some(first), Some(second)) = (a.currency, b.currency)
                    && first != second
                {
                    return none(NoValue::new(Why::MixedCurrency, format!("{} and {}", first.code(), second.code())));
                }
                if a.shares_with(b) {
                    return none(NoValue::new(
                        Why::CountedTwice,
                        format!("\"{name}\" and \"{other}\" hold the same time"),
                    ));
                }
                let components = |sum: &Sum| -> Vec<usize> {
                    sum.owners
                        .iter()
                        .filter_map(|owner| if let Owner::Component(idx) = owner { Some(*idx) } else { None })
                        .collect()
                };
                let mut both = components(a);
                both.extend(components(b).into_iter().filter(|idx| !components(a).contains(idx)));
                if a.at_one_time(b)
                    && let Some(text) = self.world.overlap(&both, None)
                {
                    return none(NoValue::new(Why::Overlap, text));
                }
            }
        }
        // Amounts are added book by book; counts and quantities are plain numbers.
        let mut total: Option<Booked> = None;
        for booked in parts.iter().filter_map(|(_, _, sum)| sum.as_ref()?.booked()) {
            let added = match (total.take(), booked) {
                (None, first) => Ok(first),
                (Some(Booked::Accrual(sum)), Booked::Accrual(one)) => sum.plus(&one).map(Booked::Accrual),
                (Some(Booked::Cash(sum)), Booked::Cash(one)) => sum.plus(&one).map(Booked::Cash),
                (Some(_), _) => return none(NoValue::new(Why::MixedBasis, "cash and accrual")),
            };
            match added {
                Ok(sum) => total = Some(sum),
                Err(two) => {
                    let about = format!("{} and {}", two.first.code(), two.second.code());
                    return none(NoValue::new(Why::MixedCurrency, about));
                }
            }
        }
        let value = match total {
            Some(Booked::Accrual(sum)) => sum.shown().amount.clone(),
            Some(Booked::Cash(sum)) => sum.shown().amount.clone(),
            None => parts.iter().fold(Q::zero(), |sum, (_, value, _)| sum + value),
        };
        Made { answer: Answer::Number(value), sum: None }
    }
}

impl Sum {
    /// The amount in its book; `None` where nothing named a currency.
    fn booked(&self) -> Option<Booked> {
        let amount = Exact { amount: self.value.clone(), currency: self.currency? };
        Some(match self.basis {
            Basis::Accrual => Booked::Accrual(Accrual::new(amount)),
            Basis::Cash => Booked::Cash(Cash::new(amount)),
        })
    }

    /// Whether both can hold the same amount.
    fn shares_with(&self, other: &Self) -> bool {
        let states = self.states.is_empty()
            || other.states.is_empty()
            || self.states.iter().any(|one| other.states.contains(one));
        self.owners.iter().any(|owner| other.owners.contains(owner)) && states && self.at_one_time(other)
    }

    fn at_one_time(&self, other: &Self) -> bool {
        let resources = self.resources.is_empty()
            || other.resources.is_empty()
            || self.resources.iter().any(|one| other.resources.contains(one));
        let times = match (self.window, other.window) {
            (Some(one), Some(two)) => super::calendar::meet(one, two).is_some(),
            _ => true,
        };
        resources && times
    }
}

/// One answer out of the answers of all readings: the same one, or the span between them.
fn merge(answers: Vec<Made>) -> Made {
    let mut distinct: Vec<Made> = Vec::new();
    for made in answers {
        if !distinct.iter().any(|one| one.answer == made.answer) {
            distinct.push(made);
        }
    }
    // A reading that needs a calendar says nothing where there is none, as long as another one speaks.
    let speaks = |made: &Made| !matches!(&made.answer, Answer::None(none) if none.why == Why::NoInstant);
    if distinct.len() > 1 && distinct.iter().any(speaks) {
        distinct.retain(speaks);
    }
    let open = || Made {
        answer: Answer::None(NoValue::new(Why::RuleNotStated, "the readings of a rule that is not stated differ")),
        sum: None,
    };
    let mut numbers: Vec<Q> = Vec::new();
    for made in &distinct {
        match &made.answer {
            Answer::Number(value) => numbers.push(value.clone()),
            _ if distinct.len() == 1 => {}
            Answer::None(none) => {
                // The lowest of the lower bounds holds for all readings.
                let bounds = distinct.iter().map(|one| match &one.answer {
                    Answer::None(none) => none.at_least.clone(),
                    Answer::Number(value) => Some(value.clone()),
                    _ => None,
                });
                let least = bounds.collect::<Option<Vec<Q>>>().and_then(|bounds| bounds.into_iter().min());
                return Made { answer: Answer::None(NoValue { at_least: least, ..none.clone() }), sum: None };
            }
            _ => return open(),
        }
    }
    if distinct.len() > 1
        && let (Some(low), Some(high)) = (numbers.iter().min(), numbers.iter().max())
    {
        return Made { answer: Answer::Span(low.clone(), high.clone()), sum: None };
    }
    distinct.pop().unwrap_or_else(open)
}

/// One reading of a case.
struct One<'a, 'w> {
    reader: Reader<'a, 'w>,
    reading: &'w Reading,
}

impl One<'_, '_> {
    fn made(&self, ask: &Ask) -> Made {
        let mut sum = None;
        let answer = match ask {
            Ask::Amount(ask) => self.reader.sum(ask).map(|made| {
                let value = made.value.clone();
                sum = Some(made);
                Answer::Number(value)
            }),
            Ask::Tax(ask) => {
                let ask = Amounts { tax: super::question::TaxPart::Only, ..ask.clone() };
                self.reader.sum(&ask).map(|made| Answer::Number(made.value))
            }
            Ask::Quantity(ask) => self.quantity(ask).map(Answer::Number),
            Ask::UnitCost(ask) => self.unit_cost(ask).map(Answer::Number),
            Ask::Share(ask) => self.share(ask).map(Answer::Number),
            Ask::Diagnostic(ask) => self.diagnostic(ask),
            Ask::Count(ask) => {
                let resources = self.reader.resources(&ask.resources);
                count::of_all(self.reader.world, &ask.of, &ask.what, &resources, None).map(Answer::Number)
            }
            Ask::Commitment(ask) => self.commitment(ask).map(Answer::Number),
            Ask::BreakEven(ask) => self.break_even(ask),
            Ask::PlanCost(ask) => self.plan_cost(ask).map(Answer::Number),
            Ask::Blocks(ask) => self.blocks(ask).map(Answer::Number),
            Ask::Hybrid(ask) => self.hybrid(ask).map(Answer::Number),
            Ask::Convert(ask) => self.convert(ask).map(Answer::Number),
            Ask::Renewals(ask) => Ok(dates(ask)),
            Ask::Reconcile(ask) => self.reconcile(ask.part, ask.bucket.as_deref()).map(Answer::Number),
            Ask::Wallet(ask) => self.wallet(ask.part).map(Answer::Number),
            Ask::SumOf(_) => Err(NoValue::new(Why::NotAddable, "a sum of sums")),
        };
        Made { answer: answer.unwrap_or_else(Answer::None), sum }
    }

    /// The chosen lines with the share of each that lies in the window.
    fn lines(&self, ask: &Amounts) -> Result<Vec<(&Line, Q)>, NoValue> {
        let window = self.reader.window(ask)?;
        let resources = self.reader.resources(&ask.resources);
        let mut out = Vec::new();
        for owner in self.reader.owners(ask) {
            let Owner::Component(idx) = owner else { continue };
            let account = match self.reader.ledger.accounts.get(idx) {
                Some(Ok(account)) => account,
                Some(Err(none)) => return Err(none.clone()),
                None => continue,
            };
            for line in &account.lines {
                let is_ours = (resources.is_empty() || line.resource.is_some_and(|one| resources.contains(&one)))
                    && (ask.states.is_empty() || ask.states.contains(&line.state))
                    && (ask.work.is_empty() || line.work.is_some_and(|work| ask.work.contains(&work)))
                    && (ask.attempts.is_empty() || line.attempt.is_some_and(|attempt| ask.attempts.contains(&attempt)));
                if is_ours {
                    let share = window.map_or_else(|| Ok(Q::one()), |window| share_of(line.span, window))?;
                    out.push((line, share));
                }
            }
        }
        Ok(out)
    }

    fn quantity(&self, ask: &QuantityOf) -> Result<Q, NoValue> {
        let chosen = ask.chosen();
        let world = self.reader.world;
        let target = Quantity::parse_per(&ask.unit).map_err(|text| NoValue::new(Why::UnknownUnit, text))?;
        let is_time = target.unit.thing == Thing::One && target.unit.time.is_some();
        let mut sum = Q::zero();
        for (line, share) in self.lines(&chosen)? {
            let Some(one) = world.components.get(line.component) else { continue };
            let rate = one.rates.get(line.rate);
            let meter = Meter::new(world, self.reading, line.component, one);
            let size = |month: &Q| target.base(&meter.sizes, month);
            let value = if is_time {
                let length = if ask.stage == QuantityStage::Metered { &line.secs } else { &line.billed_secs };
                length / size(&line.month)
            } else {
                let over_time = rate.is_some_and(super::world::Rate::is_over_time);
                let thing = rate.map_or(Thing::One, super::world::Rate::thing);
                if thing != target.unit.thing || over_time != target.unit.time.is_some() {
                    return Err(NoValue::new(
                        Why::UnknownUnit,
                        format!("\"{}\" is not counted in {}", one.of.id, ask.unit),
                    ));
                }
                let base = match ask.stage {
                    QuantityStage::Metered => line.metered.clone(),
                    QuantityStage::Rounded => line.rounded.clone(),
                    QuantityStage::Billed => {
                        &line.units
                            * rate
                                .and_then(super::world::Rate::per)
                                .map_or_else(Q::one, |per| per.base(&meter.sizes, &line.month))
                    }
                };
                base / size(&line.month)
            };
            sum += value * share;
        }
        for owner in self.reader.owners(&chosen) {
            let Owner::Commitment(idx) = owner else { continue };
            let Some(one) = world.commitments.get(idx) else { continue };
            let sizes = super::unit::Sizes { tera: self.reading.tera, ..super::unit::Sizes::default() };
            let month = whole(2_592_000);
            let share = match self.reader.window(&chosen)? {
                Some(window) => share_of(one.term, window)?,
                None => Q::one(),
            };
            let things = one.of.quantity.as_ref();
            let base = if is_time {
                one.secs.clone()
            } else if things.map_or(Thing::One, |quantity| quantity.unit.thing.clone()) == target.unit.thing {
                things.map_or_else(Q::one, |quantity| quantity.things(&sizes)) * &one.secs
            } else {
                return Err(NoValue::new(
                    Why::UnknownUnit,
                    format!("\"{}\" is not counted in {}", one.of.id, ask.unit),
                ));
            };
            sum += base * share / target.base(&sizes, &month);
        }
        Ok(sum)
    }

    fn unit_cost(&self, ask: &UnitCost) -> Result<Q, NoValue> {
        let chosen = ask.chosen();
        let amount = self.reader.sum(&Amounts { round: None, ..chosen.clone() });
        let (times, name) = outcome_of(&ask.per).map_err(|text| NoValue::new(Why::NotRecorded, text))?;
        let (resources, window) = match &amount {
            Ok(amount) => (amount.resources.clone(), amount.window),
            Err(none) if none.at_least.is_none() => return Err(none.clone()),
            Err(_) => (self.reader.resources(&chosen.resources), self.reader.window(&chosen)?),
        };
        let n = count::of_all(self.reader.world, name, &ask.what, &resources, window)?;
        if n.is_zero() {
            let why = if matches!(name, "accepted" | "within_slo") { Why::ZeroAccepted } else { Why::ZeroCount };
            let what = if ask.what.is_empty() { name } else { &ask.what };
            return Err(NoValue::new(why, format!("nothing {what} came out")));
        }
        // The lower bound of a total is that of a unit once it is divided like it.
        let amount =
            amount.map_err(|none| NoValue { at_least: none.at_least.map(|least| least / &n * &times), ..none })?;
        let value = amount.value / n * times;
        Ok(rounded(value, ask.round, amount.currency))
    }

    fn share(&self, ask: &ShareOf) -> Result<Q, NoValue> {
        let part = ask.chosen();
        let all = Amounts { states: Vec::new(), work: Vec::new(), attempts: Vec::new(), ..part.clone() };
        let (part, all) = match ask.by {
            By::Amount => (self.reader.sum(&part)?.value, self.reader.sum(&all)?.value),
            By::Time => {
                let time = |ask: &Amounts| -> Result<Q, NoValue> {
                    Ok(self
                        .lines(ask)?
                        .into_iter()
                        .fold(Q::zero(), |sum, (line, share)| sum + &line.billed_secs * share))
                };
                (time(&part)?, time(&all)?)
            }
        };
        if all.is_zero() { Err(NoValue::new(Why::ZeroCount, "the whole is zero")) } else { Ok(part / all) }
    }

    fn diagnostic(&self, ask: &Diagnostic) -> Result<Answer, NoValue> {
        let chosen = ask.chosen();
        let work =
            |work: &[Work]| self.reader.sum(&Amounts { work: work.to_vec(), ..chosen.clone() }).map(|sum| sum.value);
        let entries = |is_kind: &dyn Fn(Kind) -> bool| -> Result<Q, NoValue> {
            let owners = self.reader.owners(&chosen);
            let entries = self.reader.entries(&chosen, &owners)?;
            Ok(entries
                .into_iter()
                .filter(|(entry, _)| is_kind(entry.kind))
                .fold(Q::zero(), |sum, (entry, share)| sum + entry.amount * share))
        };
        // Outputs carry the same part of the amount each.
        let part_of = |name: &str, whole: &str| -> Result<Q, NoValue> {
            let resources = self.reader.resources(&ask.resources);
            let window = self.reader.window(&chosen)?;
            let n = count::of_all(self.reader.world, name, &ask.what, &resources, window)?;
            let all = count::of_all(self.reader.world, whole, &ask.what, &resources, window)?;
            if all.is_zero() {
                return Err(NoValue::new(Why::ZeroCount, format!("nothing {whole} came out")));
            }
            let part = n / all;
            let sum = self.reader.sum(&chosen);
            let sum = sum.map_err(|none| NoValue { at_least: none.at_least.map(|least| least * &part), ..none })?;
            Ok(sum.value * part)
        };
        let value = match ask.view {
            Some(View::Idle) => work(&[Work::Idle])?,
            Some(View::Lost) => work(&[Work::Lost])?,
            Some(View::Restart) => work(&[Work::Restart])?,
            Some(View::Unused) => entries(&|kind| matches!(kind, Kind::Unused | Kind::Bill(ChargeKind::Unused)))?,
            Some(View::Shortfall) => entries(&|kind| kind == Kind::Shortfall)?,
            Some(View::Rejected) => part_of("rejected", "attempted")?,
            Some(View::Failed) => part_of("failed", "attempted")?,
            Some(View::Retries) => part_of("retries", "attempted")?,
            Some(View::OutsideSlo) => part_of("outside_slo", "attempted")?,
            None => return Err(NoValue::new(Why::NotRecorded, "the view")),
        };
        if !ask.share {
            return Ok(Answer::Number(value));
        }
        let all = self.reader.sum(&chosen)?.value;
        if all.is_zero() {
            Err(NoValue::new(Why::ZeroCount, "the amount is zero"))
        } else {
            Ok(Answer::Number(value / all))
        }
    }

    fn commitment(&self, ask: &CommitmentOf) -> Result<Q, NoValue> {
        let world = self.reader.world;
        let idx = world.commitment(&ask.id).ok_or_else(|| NoValue::new(Why::NotRecorded, ask.id.as_str()))?;
        if let Some(none) = self.reader.ledger.broken.get(&idx) {
            return Err(none.clone());
        }
        let window = self.reader.window(&commitment_window(ask))?;
        let take = |book: &[Entry], is_ours: &dyn Fn(&Entry) -> bool| -> Result<Q, NoValue> {
            let mut sum = Q::zero();
            for entry in book.iter().filter(|entry| is_ours(entry)) {
                let share = window.map_or_else(|| Ok(Q::one()), |window| share_of(entry.span, window))?;
                sum += &entry.amount * share;
            }
            Ok(sum)
        };
        let owner = Owner::Commitment(idx);
        let accrual = &self.reader.ledger.accrual.0;
        let used = take(accrual, &|entry| entry.kind == Kind::Used(idx))?;
        let unused = take(accrual, &|entry| entry.owner == owner && entry.kind == Kind::Unused)?;
        let total = &used + &unused;
        let over = |part: Q| {
            if total.is_zero() { Err(NoValue::new(Why::ZeroCount, ask.id.as_str())) } else { Ok(part / &total) }
        };
        match ask.part {
            CommitmentPart::Total => Ok(total),
            CommitmentPart::Used => Ok(used),
            CommitmentPart::Unused => Ok(unused),
            CommitmentPart::UnusedShare => over(unused.clone()),
            CommitmentPart::UsedShare => over(used.clone()),
            CommitmentPart::PerHour => {
                let length = match (window, world.commitments.get(idx)) {
                    (Some(window), _) => secs(window.0, window.1),
                    (None, one) => one.map_or_else(Q::zero, |one| one.secs.clone()),
                };
                if length.is_zero() {
                    Err(NoValue::new(Why::ZeroCount, ask.id.as_str()))
                } else {
                    Ok(total * whole(3600) / length)
                }
            }
            CommitmentPart::Shortfall => take(accrual, &|entry| entry.owner == owner && entry.kind == Kind::Shortfall),
            CommitmentPart::Cash => take(&self.reader.ledger.cash.0, &|entry| entry.owner == owner),
        }
    }

    fn plan(&self, id: &str) -> Result<&Plan, NoValue> {
        let plan = self.reader.world.case.plans.iter().find(|one| one.id == id);
        plan.ok_or_else(|| NoValue::new(Why::NotRecorded, id))
    }

    /// A plan as a curve over units; what is charged for all of them whatever is used needs the limit.
    fn curve(&self, plan: &Plan, plans: &[&Plan], limit: Option<&Q>) -> Result<Curve, NoValue> {
        let money =
            |price: &Option<super::field::Price>| price.as_ref().map_or_else(Q::zero, |price| price.0.amount.clone());
        let per_unit = match &plan.unit_cost {
            Some(unit) => {
                self.unit_cost(&UnitCost { of: unit.of.clone(), per: unit.per.clone(), ..UnitCost::default() })?
            }
            None => money(&plan.per_unit),
        };
        let mut fixed = money(&plan.fixed);
        if let Some(price) = &plan.per_unit_of_limit {
            let limit =
                limit.ok_or_else(|| NoValue::new(Why::NotRecorded, format!("the limit of plan \"{}\"", plan.id)))?;
            fixed += &price.0.amount * limit;
        }
        let useful = plan.useful.as_ref().map_or_else(Q::one, |useful| useful.0.clone());
        if !useful.is_positive() {
            return Err(NoValue::new(Why::ZeroAccepted, format!("plan \"{}\" does nothing useful", plan.id)));
        }
        let positive = |quantity: &Option<Quantity>| quantity.as_ref().map(|quantity| self.units(plans, quantity));
        let capacity = positive(&plan.capacity);
        if capacity.as_ref().is_some_and(|capacity| !capacity.is_positive()) {
            return Err(NoValue::new(Why::OutOfCapacity, format!("plan \"{}\" can do nothing", plan.id)));
        }
        Ok(Curve {
            once: money(&plan.once),
            fixed,
            per_unit,
            capacity,
            free: positive(&plan.free_units).unwrap_or_else(Q::zero),
            useful,
        })
    }

    /// Plans that are held against each other must be in one currency and one unit.
    fn comparable(&self, plans: &[&Plan], others: &[&Option<Quantity>]) -> Result<(), NoValue> {
        let mut currency = None;
        let code = self.reader.world.case.currency.map(|code| code.0);
        let prices = plans.iter().flat_map(|plan| {
            let blocks = plan.blocks.iter().map(|block| &block.price);
            [&plan.fixed, &plan.once, &plan.per_unit, &plan.per_unit_of_limit].into_iter().flatten().chain(blocks)
        });
        for price in prices {
            let own = price.0.currency.or(code);
            if *currency.get_or_insert(own) != own {
                return Err(NoValue::new(Why::MixedCurrency, "the plans are priced in two currencies"));
            }
        }
        let mut unit: Option<(Thing, bool)> = None;
        let own = plans.iter().filter_map(|plan| plan.unit.as_ref()).map(|unit| &unit.0);
        let quantities = plans.iter().flat_map(|plan| [&plan.capacity, &plan.free_units]).chain(others.iter().copied());
        for quantity in own.clone().chain(quantities.flatten()).filter(|quantity| !quantity.unit.text().is_empty()) {
            let kind = (quantity.unit.thing.clone(), quantity.unit.time.is_some());
            if *unit.get_or_insert_with(|| kind.clone()) != kind {
                return Err(NoValue::new(
                    Why::UnknownUnit,
                    format!("\"{}\" is not the unit of the others", quantity.unit.text()),
                ));
            }
        }
        let mut own = own;
        if let Some(first) = own.next()
            && own.any(|other| other != first)
        {
            return Err(NoValue::new(Why::UnknownUnit, "the plans count in two units"));
        }
        Ok(())
    }

    /// A quantity in the units of the plans that are held against each other; a time is counted in hours where they do
    /// not say.
    fn units(&self, plans: &[&Plan], quantity: &Quantity) -> Q {
        let sizes = super::unit::Sizes { tera: self.reading.tera, ..super::unit::Sizes::default() };
        let base = |quantity: &Quantity| quantity.base(&sizes, &whole(2_592_000));
        if quantity.unit.text().is_empty() {
            return quantity.number.clone();
        }
        match plans.iter().find_map(|plan| plan.unit.as_ref()) {
            Some(unit) => base(quantity) / base(&unit.0),
            None if quantity.unit.time.is_some() => base(quantity) / whole(3600),
            None => quantity.number.clone(),
        }
    }

    fn break_even(&self, ask: &BreakEven) -> Result<Answer, NoValue> {
        let (first, second) = (self.plan(&ask.between.0)?, self.plan(&ask.between.1)?);
        self.comparable(&[first, second], &[&ask.limit, &ask.at, &ask.up_to])?;
        let both = [first, second];
        let n = |quantity: &Option<Quantity>| quantity.as_ref().map(|quantity| self.units(&both, quantity));
        let (limit, at, up_to) = (n(&ask.limit), n(&ask.at), n(&ask.up_to));
        let (a, b) = (self.curve(first, &both, limit.as_ref())?, self.curve(second, &both, limit.as_ref())?);
        let none =
            || NoValue::new(Why::NoCrossing, format!("\"{}\" and \"{}\" never cost the same", first.id, second.id));
        let found = || crossings(&a, &b, up_to.as_ref());
        let one = || found()?.into_iter().next().ok_or_else(none);
        let all = || limit.clone().ok_or_else(|| NoValue::new(Why::NotRecorded, "the limit"));
        let point = || at.clone().map_or_else(all, Ok);
        Ok(match ask.find {
            Find::Crossing => Answer::Number(one()?),
            Find::Crossings => Answer::Numbers(found()?),
            Find::Count => Answer::Number(Q::from_integer(found()?.len().into())),
            Find::FirstWhole => Answer::Number(first_whole(&a, &b, up_to.as_ref())?.ok_or_else(none)?),
            Find::Utilisation => {
                let limit = all()?;
                if limit.is_zero() {
                    return Err(NoValue::new(Why::ZeroCount, "the limit"));
                }
                Answer::Number(one()? / limit)
            }
            Find::WithinCapacity => {
                let one = one()?;
                Answer::Yes(b.capacity.as_ref().is_none_or(|capacity| one <= capacity * &b.useful))
            }
            Find::Saving => {
                let x = point()?;
                Answer::Number(a.cost(&x) - b.cost(&x))
            }
            Find::Cheaper => {
                let x = point()?;
                let (cost_a, cost_b) = (a.cost(&x), b.cost(&x));
                match cost_a.cmp(&cost_b) {
                    std::cmp::Ordering::Less => Answer::Name(first.id.clone()),
                    std::cmp::Ordering::Greater => Answer::Name(second.id.clone()),
                    std::cmp::Ordering::Equal => Answer::Name("both".to_owned()),
                }
            }
        })
    }

    fn plan_cost(&self, ask: &PlanCost) -> Result<Q, NoValue> {
        let plan = self.plan(&ask.plan)?;
        self.comparable(&[plan], &[&ask.at, &ask.limit])?;
        let n = |quantity: &Option<Quantity>| quantity.as_ref().map(|quantity| self.units(&[plan], quantity));
        let curve = self.curve(plan, &[plan], n(&ask.limit).as_ref())?;
        match n(&ask.at) {
            None if ask.per_unit => Ok(curve.per_unit),
            None => Err(NoValue::new(Why::NotRecorded, "how many units")),
            Some(at) if ask.per_unit && at.is_zero() => Err(NoValue::new(Why::ZeroCount, "no unit")),
            Some(at) if ask.per_unit => Ok(curve.cost(&at) / &at),
            Some(at) => Ok(curve.cost(&at)),
        }
    }

    fn blocks(&self, ask: &Blocks) -> Result<Q, NoValue> {
        let plan = self.plan(&ask.plan)?;
        self.comparable(&[plan], &[])?;
        let blocks: Vec<BlockPrice> = plan
            .blocks
            .iter()
            .filter(|block| block.lasts.0.is_positive())
            .map(|block| BlockPrice { price: block.price.0.amount.clone(), secs: block.lasts.0.clone() })
            .collect();
        let need = Need { secs: ask.need.0.clone(), each_day: ask.each_day.as_ref().map(|hours| hours.0.clone()) };
        if need.each_day.as_ref().is_some_and(|hours| *hours > whole(86_400)) {
            return Err(NoValue::new(Why::OutOfCapacity, "more hours than a day has"));
        }
        let missing = || NoValue::new(Why::MissingPrice, format!("plan \"{}\" has no such block", plan.id));
        match (&ask.only, ask.best) {
            (Some(length), _) => blocks
                .iter()
                .find(|block| block.secs == length.0)
                .map(|block| one_block(block, &need))
                .ok_or_else(missing),
            (None, Best::Single) => blocks.iter().map(|block| one_block(block, &need)).min().ok_or_else(missing),
            (None, Best::Mix) if blocks.is_empty() => Err(missing()),
            (None, Best::Mix) => best_mix(&blocks, &need),
        }
    }

    fn hybrid(&self, ask: &HybridOf) -> Result<Q, NoValue> {
        let (base, peaks) = (self.plan(&ask.base)?, self.plan(&ask.peaks)?);
        self.comparable(&[base, peaks], &[])?;
        let both = [base, peaks];
        let (base, peaks) = (self.curve(base, &both, None)?, self.curve(peaks, &both, None)?);
        let demand: Vec<Q> = ask.demand.iter().map(|one| one.0.clone()).collect();
        let machines = ask.machines.as_ref().map_or_else(Q::one, |machines| machines.0.clone());
        let made = hybrid(&base, &peaks, &demand, &machines);
        Ok(match ask.part {
            HybridPart::Base => made.base,
            HybridPart::Peaks => made.peaks,
            HybridPart::Total => made.base + made.peaks,
            HybridPart::AllPeaks => made.all_peaks,
            HybridPart::AllBase => made.all_base,
        })
    }

    fn convert(&self, ask: &super::question::Convert) -> Result<Q, NoValue> {
        let world = self.reader.world;
        let from = ask.amount.currency.or(world.case.currency.map(|code| code.0));
        let from = from.ok_or_else(|| NoValue::new(Why::MissingRate, "the amount has no currency"))?;
        let zone = world.zone.or(Some(chrono_tz::UTC));
        let on =
            ask.on.as_ref().map(|on| on.at(zone)).transpose().map_err(|text| NoValue::new(Why::NoInstant, text))?;
        let value = convert(world, &ask.amount.amount, from, ask.to.0, on)?;
        Ok(rounded(value, ask.round, Some(ask.to.0)))
    }

    fn reconcile(&self, part: Reconcile, bucket: Option<&str>) -> Result<Q, NoValue> {
        let case = self.reader.world.case;
        let in_bucket = |name: &str| bucket.is_none_or(|bucket| bucket == name);
        let has_bill = !case.charges.is_empty();
        let mut currency = case.currency.map(|code| code.0);
        let mut same = |own: Option<iso_currency::Currency>| -> Result<(), NoValue> {
            if let Some(own) = own
                && *currency.get_or_insert(own) != own
            {
                return Err(NoValue::new(Why::MixedCurrency, "plan and bill"));
            }
            Ok(())
        };
        let mut bill: std::collections::BTreeMap<String, Q> = std::collections::BTreeMap::new();
        if has_bill {
            for entry in &self.reader.ledger.cash.0 {
                let Owner::Charge(idx) = entry.owner else { continue };
                same(Some(entry.currency))?;
                let name = case.charges.get(idx).map_or("", |charge| charge.bucket.as_str());
                *bill.entry(name.to_owned()).or_insert_with(Q::zero) += &entry.amount;
            }
        }
        let computed = || -> Result<std::collections::BTreeMap<String, Q>, NoValue> {
            let mut out = std::collections::BTreeMap::new();
            for one in &case.components {
                let ask = Amounts { of: vec![one.id.clone()], ..Amounts::default() };
                out.insert(one.id.clone(), self.reader.sum(&ask)?.value);
            }
            Ok(out)
        };
        if !has_bill {
            bill = computed()?;
        }
        let mut plan: std::collections::BTreeMap<String, Q> = std::collections::BTreeMap::new();
        for planned in &case.planned {
            same(planned.amount.currency)?;
            *plan.entry(planned.bucket.clone()).or_insert_with(Q::zero) += &planned.amount.amount;
        }
        if case.planned.is_empty() && has_bill && !case.components.is_empty() {
            plan = computed()?;
        }
        let total = |of: &std::collections::BTreeMap<String, Q>| {
            of.iter().filter(|(name, _)| in_bucket(name)).fold(Q::zero(), |sum, (_, amount)| sum + amount)
        };
        let is_planned = |name: &str| plan.get(name).is_some_and(|amount| !amount.is_zero());
        match part {
            Reconcile::Variance if plan.is_empty() => Err(NoValue::new(Why::NotRecorded, "a plan")),
            Reconcile::Variance => Ok(total(&bill) - total(&plan)),
            Reconcile::Unplanned => Ok(bill
                .iter()
                .filter(|(name, _)| in_bucket(name) && !is_planned(name))
                .fold(Q::zero(), |sum, (_, amount)| sum + amount)),
            Reconcile::Unbilled => Ok(plan
                .iter()
                .filter(|(name, _)| in_bucket(name) && !bill.contains_key(*name))
                .fold(Q::zero(), |sum, (_, amount)| sum + amount)),
            Reconcile::Idle if case.allocated.is_empty() => Err(NoValue::new(Why::NotRecorded, "what was handed on")),
            Reconcile::Idle => {
                let mut handed = Q::zero();
                for one in case.allocated.iter().filter(|one| in_bucket(&one.bucket)) {
                    same(one.amount.currency)?;
                    handed += &one.amount.amount;
                }
                let all = if has_bill { total(&bill) } else { self.reader.sum(&Amounts::default())?.value };
                Ok(all - handed)
            }
        }
    }

    fn wallet(&self, part: WalletPart) -> Result<Q, NoValue> {
        let world = self.reader.world;
        let wallet = world.case.wallet.as_ref().ok_or_else(|| NoValue::new(Why::NotRecorded, "a wallet"))?;
        if let Some(none) = self.reader.ledger.accounts.iter().find_map(|account| account.as_ref().err()) {
            return Err(none.clone());
        }
        let used: Vec<Entry> = self.reader.ledger.accrual.0.clone();
        if part == WalletPart::Cost {
            return self.reader.sum(&Amounts::default()).map(|sum| sum.value);
        }
        let balance = wallet::balance(world, wallet, &used);
        match (part, balance) {
            (WalletPart::Cash, Ok(balance)) => Ok(balance.cash),
            (WalletPart::Closing, Ok(balance)) => balance.closing,
            (WalletPart::AutomaticTopUps, Ok(balance)) => Ok(whole(i64::from(balance.automatic))),
            (WalletPart::Cost, Ok(balance)) => Ok(balance.cost),
            (_, Err(none)) => Err(none),
        }
    }
}

fn rounded(value: Q, round: Option<MoneyRounding>, currency: Option<iso_currency::Currency>) -> Q {
    match round {
        None => value,
        Some(round) => {
            round_places(&value, round.places.unwrap_or_else(|| currency.map_or(2, minor_units)), round.mode)
        }
    }
}

fn dates(ask: &super::question::Renewals) -> Answer {
    let Some(anchor) = ask.from.date() else { return Answer::Dates(Vec::new()) };
    match &ask.every {
        Every::Months(months) => Answer::Dates(renewals(anchor, *months, ask.count.min(10_000))),
        Every::Secs(length) => {
            let days = num_traits::ToPrimitive::to_u64(&(length / whole(86_400)).floor().to_integer()).unwrap_or(0);
            let count = u64::from(ask.count.min(10_000));
            Answer::Dates(
                (1..=count)
                    .filter_map(|n| anchor.checked_add_days(chrono::Days::new(days.saturating_mul(n))))
                    .collect(),
            )
        }
    }
}

/// The window of a question about a commitment, as that of an amount.
fn commitment_window(ask: &CommitmentOf) -> Amounts {
    Amounts {
        from: ask.from.clone(),
        to: ask.to.clone(),
        day: ask.day.clone(),
        month: ask.month.clone(),
        zone: ask.zone.clone(),
        basis: Basis::Accrual,
        ..Amounts::default()
    }
}
