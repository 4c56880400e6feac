//! A prepaid account: what was paid in is cash, what was used is cost, and the rest is the balance.

use iso_currency::Currency;
use num_traits::{Signed as _, Zero as _};

use super::answer::{NoValue, Why};
use super::calendar::At;
use super::case::Wallet;
use super::ledger::Entry;
use super::number::{Q, show, whole};
use super::world::World;

/// The account at its end.
pub(super) struct Balance {
    /// What was used.
    pub cost: Q,
    /// What was paid in.
    pub cash: Q,
    /// What is left; no value when the account was below zero at any time, since the machine would have stopped.
    pub closing: Result<Q, NoValue>,
    /// How many top-ups the rule made by itself.
    pub automatic: u32,
}

/// Follows the account through top-ups and use in the order of time; where instants are missing, top-ups come first.
pub(super) fn balance(world: &World<'_>, wallet: &Wallet, used: &[Entry]) -> Result<Balance, NoValue> {
    let currency = currency(world, wallet);
    let used: Vec<&Entry> = used.iter().filter(|entry| !entry.amount.is_zero()).collect();
    if let Some(other) = used.iter().find(|entry| entry.currency != currency) {
        return Err(NoValue::new(Why::MixedCurrency, format!("{} and {}", currency.code(), other.currency.code())));
    }
    let mut cash = Q::zero();
    // Instants, then what happens at the same one: payments in, expiry, use.
    let mut steps: Vec<(Option<At>, u8, Q, Option<At>)> = Vec::new();
    for top_up in &wallet.top_ups {
        let at = top_up.on.as_ref().and_then(|on| on.at(world.zone.or(Some(chrono_tz::UTC))).ok());
        let expires = top_up.expires.as_ref().and_then(|on| on.at(world.zone.or(Some(chrono_tz::UTC))).ok());
        let bonus = top_up.bonus.as_ref().map_or_else(Q::zero, |bonus| bonus.0.amount.clone());
        for _ in 0..top_up.times.unwrap_or(1) {
            cash += &top_up.amount.0.amount;
            steps.push((at, 0, &top_up.amount.0.amount + &bonus, expires));
        }
    }
    let cost = used.iter().fold(Q::zero(), |sum, entry| sum + &entry.amount);
    steps.extend(used.iter().map(|entry| (entry.span.map(|span| span.1), 2, entry.amount.clone(), None)));
    let expiries: Vec<At> = steps.iter().filter_map(|step| step.3).collect();
    steps.extend(expiries.into_iter().map(|at| (Some(at), 1, Q::zero(), Some(at))));
    // What happens after the period is not of it.
    if let Some(end) = world.period.map(|span| span.1) {
        steps.retain(|step| step.0.is_none_or(|at| at < end || (step.1 == 2 && at == end)));
    }
    // A stable order: what was paid in at no stated time comes first, what was used at none comes last.
    steps.sort_by_key(|step| (step.0.is_none() && step.1 == 2, step.0, step.1));
    // What is left of each payment, with its end; the opening balance never ends.
    let mut lots: Vec<(Option<At>, Q)> = vec![(None, wallet.opening.amount.clone())];
    let mut debt = Q::zero();
    let mut automatic = 0_u32;
    let mut lowest = Q::zero();
    for (at, kind, amount, expires) in steps {
        match kind {
            0 => lots.push((expires, amount)),
            1 => lots.retain(|lot| lot.0 != at),
            _ => {
                debt += amount;
                // What ends first is used first.
                lots.sort_by_key(|lot| (lot.0.is_none(), lot.0));
                for lot in &mut lots {
                    let taken = debt.clone().min(lot.1.clone()).max(Q::zero());
                    lot.1 -= &taken;
                    debt -= taken;
                }
                if let Some(rule) = &wallet.automatic {
                    let step = &rule.amount.0.amount;
                    while step.is_positive() && left(&lots, &debt) < rule.below.0.amount && automatic < 100_000 {
                        automatic += 1;
                        cash += step;
                        let pays = debt.clone().min(step.clone());
                        debt -= &pays;
                        lots.push((None, step - pays));
                    }
                }
                // Use at no stated time is told from top-ups after it only at the end.
                if at.is_some() {
                    lowest = lowest.min(left(&lots, &debt));
                }
            }
        }
    }
    let closing = left(&lots, &debt);
    let lowest = lowest.min(closing.clone());
    let closing = if lowest.is_negative() {
        let missing = format!("{} {} are missing", show(&-lowest), currency.code());
        Err(NoValue::new(Why::WalletEmpty, missing))
    } else {
        Ok(closing)
    };
    Ok(Balance { cost, cash, closing, automatic })
}

fn left(lots: &[(Option<At>, Q)], debt: &Q) -> Q {
    lots.iter().fold(-debt.clone(), |sum, lot| sum + &lot.1)
}

/// The currency of the account.
pub(super) fn currency(world: &World<'_>, wallet: &Wallet) -> Currency {
    let stated = wallet.opening.currency.or(world.case.currency.map(|code| code.0));
    stated.unwrap_or(Currency::USD)
}

/// What was paid in: when, how much.
pub(super) fn payments(world: &World<'_>, wallet: &Wallet, used: &[Entry]) -> Vec<(Option<At>, Q, Currency)> {
    let currency = currency(world, wallet);
    let mut out: Vec<(Option<At>, Q, Currency)> = Vec::new();
    for top_up in &wallet.top_ups {
        let at = top_up.on.as_ref().and_then(|on| on.at(world.zone.or(Some(chrono_tz::UTC))).ok());
        for _ in 0..top_up.times.unwrap_or(1) {
            out.push((at, top_up.amount.0.amount.clone(), currency));
        }
    }
    if let (Some(rule), Ok(balance)) = (&wallet.automatic, balance(world, wallet, used)) {
        out.push((None, &rule.amount.0.amount * whole(i64::from(balance.automatic)), currency));
    }
    out
}
