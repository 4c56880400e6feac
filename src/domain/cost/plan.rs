//! Ways to pay for the same work, held against each other: where they cost the same, from which whole unit on, blocks of
//! time, and a base load with peaks elsewhere.

use num_bigint::BigInt;
use num_traits::{One as _, Signed as _, ToPrimitive as _, Zero as _};

use super::answer::{NoValue, Why};
use super::number::{Q, whole};

/// A plan as a function of what is used: pieces of straight lines, with a jump at each further machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::domain) struct Curve {
    /// Paid once, however much is used.
    pub once: Q,
    /// Paid for each machine; one at least.
    pub fixed: Q,
    /// Paid for each unit above the free ones.
    pub per_unit: Q,
    /// Units of one machine; no limit where not stated.
    pub capacity: Option<Q>,
    /// Units that are free.
    pub free: Q,
    /// Share of the units that counts.
    pub useful: Q,
}

/// A piece on which the difference of two plans is a straight line: from just after `from` to `to`.
struct Stretch {
    from: Q,
    to: Option<Q>,
    /// Difference just after `from`.
    start: Q,
    slope: Q,
}

/// Pieces looked at before the search gives up; the plans meet again and again beyond any bill by then.
const MOST_STRETCHES: usize = 20_000;

impl Curve {
    /// What `x` units that count cost.
    pub(in crate::domain) fn cost(&self, x: &Q) -> Q {
        let units = x / &self.useful;
        let paid = (&units - &self.free).max(Q::zero());
        &self.once + &self.fixed * self.machines(&units) + &self.per_unit * paid
    }

    fn machines(&self, units: &Q) -> Q {
        self.capacity.as_ref().map_or_else(Q::one, |capacity| (units / capacity).ceil().max(Q::one()))
    }

    /// Its price a unit in the long run, further machines included.
    fn long_run(&self) -> Q {
        let machine = self.capacity.as_ref().map_or_else(Q::zero, |capacity| &self.fixed / capacity);
        (&self.per_unit + machine) / &self.useful
    }
}

/// What is paid over a demand, in straight pieces: what a search for crossings walks along.
pub(in crate::domain) trait Pieces {
    /// What is paid just after `x`, and the price of one more unit there.
    fn after(&self, x: &Q) -> (Q, Q);

    /// The first place after `x` at which it bends or jumps.
    fn next_edge(&self, x: &Q) -> Option<Q>;
}

impl Pieces for Curve {
    fn after(&self, x: &Q) -> (Q, Q) {
        let units = x / &self.useful;
        let machines = match &self.capacity {
            Some(capacity) => ((&units / capacity).floor() + Q::one()).max(Q::one()),
            None => Q::one(),
        };
        let slope = if units >= self.free { &self.per_unit / &self.useful } else { Q::zero() };
        let paid = (&units - &self.free).max(Q::zero());
        (&self.once + &self.fixed * machines + &self.per_unit * paid, slope)
    }

    fn next_edge(&self, x: &Q) -> Option<Q> {
        let bend = (&self.free * &self.useful).clone();
        let bend = (bend > *x && !self.per_unit.is_zero()).then_some(bend);
        let jump = self.capacity.as_ref().filter(|_| !self.fixed.is_zero()).map(|capacity| {
            let step = capacity * &self.useful;
            ((x / &step).floor() + Q::one()) * step
        });
        match (bend, jump) {
            (Some(bend), Some(jump)) => Some(bend.min(jump)),
            (one, other) => one.or(other),
        }
    }
}

/// Every stretch of `a - b` from 0 on, up to where nothing can change any more, or to `up_to`.
fn stretches(a: &Curve, b: &Curve, up_to: Option<&Q>) -> Result<Vec<Stretch>, NoValue> {
    let has_stairs = [a, b].iter().any(|curve| curve.capacity.is_some() && !curve.fixed.is_zero());
    let drift = a.long_run() - b.long_run();
    // Beyond this the steps are too small to turn the order around again.
    let settled = has_stairs.then(|| {
        let swing =
            &a.once + &b.once + whole(2) * (&a.fixed + &b.fixed) + &a.per_unit * &a.free + &b.per_unit * &b.free;
        (!drift.is_zero()).then(|| {
            swing / drift.abs()
                + a.capacity.clone().unwrap_or_else(Q::zero)
                + b.capacity.clone().unwrap_or_else(Q::zero)
        })
    });
    let last = match (up_to, settled) {
        (Some(up_to), _) => Some(up_to.clone()),
        (None, None) => None,
        (None, Some(Some(settled))) => Some(settled),
        (None, Some(None)) => {
            return Err(NoValue::new(Why::RuleNotStated, "both plans cost the same in the long run: state up_to"));
        }
    };
    walk(a, b, last)
}

/// Every stretch of `a - b` from 0 up to `last`, or on for ever.
fn walk(a: &dyn Pieces, b: &dyn Pieces, last: Option<Q>) -> Result<Vec<Stretch>, NoValue> {
    let mut out = Vec::new();
    let mut from = Q::zero();
    for _ in 0..MOST_STRETCHES {
        let ((start_a, slope_a), (start_b, slope_b)) = (a.after(&from), b.after(&from));
        let edge = match (a.next_edge(&from), b.next_edge(&from)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let to = match (edge, &last) {
            (Some(edge), Some(last)) => Some(edge.min(last.clone())),
            (edge, last) => edge.or_else(|| last.clone()),
        };
        out.push(Stretch { from: from.clone(), to: to.clone(), start: start_a - start_b, slope: slope_a - slope_b });
        match to {
            Some(to) if last.as_ref().is_none_or(|last| to < *last) => from = to,
            _ => return Ok(out),
        }
    }
    Err(NoValue::new(Why::OutOfCapacity, "too many machines to look at: state up_to"))
}

/// Every number of units at which the cheaper plan changes, in order.
pub(super) fn crossings(a: &Curve, b: &Curve, up_to: Option<&Q>) -> Result<Vec<Q>, NoValue> {
    stretches(a, b, up_to).map(turns)
}

/// The same for any two ways to pay, up to a number of units.
pub(in crate::domain) fn crossings_within(a: &dyn Pieces, b: &dyn Pieces, up_to: &Q) -> Result<Vec<Q>, NoValue> {
    walk(a, b, Some(up_to.clone())).map(turns)
}

/// Where the sign of the difference changes.
fn turns(stretches: Vec<Stretch>) -> Vec<Q> {
    let mut out = Vec::new();
    let mut sign = 0_i8;
    for stretch in stretches {
        let end = stretch.to.as_ref().map(|to| &stretch.start + &stretch.slope * (to - &stretch.from));
        let at_start = signum(&stretch.start);
        if at_start != 0 {
            if sign != 0 && at_start != sign {
                out.push(stretch.from.clone());
            }
            sign = at_start;
        }
        let at_end = end.as_ref().map_or_else(|| signum(&stretch.slope), signum);
        if at_end != 0 && at_end != sign {
            if sign != 0 {
                let root = &stretch.from - &stretch.start / &stretch.slope;
                out.push(root);
            }
            sign = at_end;
        }
    }
    out
}

/// The least whole number of units for which `b` costs less than `a`.
pub(super) fn first_whole(a: &Curve, b: &Curve, up_to: Option<&Q>) -> Result<Option<Q>, NoValue> {
    for stretch in stretches(a, b, up_to)? {
        let gain = |n: &Q| &stretch.start + &stretch.slope * (n - &stretch.from);
        let is_in = |n: &Q| stretch.to.as_ref().is_none_or(|to| n <= to);
        let first = stretch.from.floor() + Q::one();
        if is_in(&first) && gain(&first).is_positive() {
            return Ok(Some(first));
        }
        if stretch.slope.is_positive() {
            let root = &stretch.from - &stretch.start / &stretch.slope;
            let after = (root.floor() + Q::one()).max(first);
            if is_in(&after) && gain(&after).is_positive() {
                return Ok(Some(after));
            }
        }
    }
    Ok(None)
}

fn signum(value: &Q) -> i8 {
    if value.is_zero() {
        0
    } else if value.is_positive() {
        1
    } else {
        -1
    }
}

/// A price for a block of time.
pub(super) struct BlockPrice {
    pub price: Q,
    pub secs: Q,
}

/// A need of time: so many days, and so many hours of each.
pub(super) struct Need {
    pub secs: Q,
    /// Seconds of each day; a whole day where not stated.
    pub each_day: Option<Q>,
}

/// What the need costs by blocks of one length.
pub(super) fn one_block(block: &BlockPrice, need: &Need) -> Q {
    let day = whole(86_400);
    match &need.each_day {
        Some(hours) if block.secs < day => (&need.secs / &day).ceil() * (hours / &block.secs).ceil() * &block.price,
        _ => (&need.secs / &block.secs).ceil() * &block.price,
    }
}

/// The cheapest mix of blocks that covers the need.
pub(super) fn best_mix(blocks: &[BlockPrice], need: &Need) -> Result<Q, NoValue> {
    let day = whole(86_400);
    if let Some(hours) = &need.each_day {
        // Blocks below a day serve one day; the cheapest way to serve a day is a block of a day itself.
        let (short, long): (Vec<&BlockPrice>, Vec<&BlockPrice>) = blocks.iter().partition(|block| block.secs < day);
        let mut days: Vec<BlockPrice> =
            long.iter().map(|block| BlockPrice { price: block.price.clone(), secs: block.secs.clone() }).collect();
        if !short.is_empty() {
            let short: Vec<BlockPrice> =
                short.iter().map(|block| BlockPrice { price: block.price.clone(), secs: block.secs.clone() }).collect();
            days.push(BlockPrice { price: cover(&short, hours)?, secs: day });
        }
        return cover(&days, &need.secs);
    }
    cover(blocks, &need.secs)
}

/// The least price of blocks that together last at least as long as the need.
fn cover(blocks: &[BlockPrice], need: &Q) -> Result<Q, NoValue> {
    let whole_secs = |value: &Q| value.is_integer().then(|| value.to_integer());
    let too_fine = || NoValue::new(Why::OutOfCapacity, "blocks and need have no common step");
    let lengths: Vec<BigInt> =
        blocks.iter().map(|block| whole_secs(&block.secs)).collect::<Option<_>>().ok_or_else(too_fine)?;
    let step = lengths.iter().fold(BigInt::zero(), |sum, length| common_step(sum, length.clone()));
    if step.is_zero() {
        return Err(NoValue::new(Why::NotRecorded, "blocks"));
    }
    let n = (need / Q::from_integer(step.clone()))
        .ceil()
        .to_integer()
        .to_usize()
        .filter(|n| *n <= 1_000_000)
        .ok_or_else(too_fine)?;
    let sizes: Vec<usize> = lengths.iter().map(|length| (length / &step).to_usize().unwrap_or(usize::MAX)).collect();
    let mut best: Vec<Q> = vec![Q::zero()];
    for at in 1..=n {
        let least = sizes
            .iter()
            .zip(blocks)
            .filter_map(|(size, block)| best.get(at.saturating_sub(*size)).map(|before| before + &block.price))
            .min();
        best.push(least.unwrap_or_else(Q::zero));
    }
    Ok(best.pop().unwrap_or_else(Q::zero))
}

/// The greatest length that fits both a whole number of times.
fn common_step(a: BigInt, b: BigInt) -> BigInt {
    let (mut a, mut b) = (a, b);
    while !b.is_zero() {
        (a, b) = (b.clone(), a % b);
    }
    a
}

/// What a base load and its peaks cost over a demand for each step of time.
pub(super) struct Hybrid {
    /// The base: its machines in every step, and what it carries.
    pub base: Q,
    /// What the base cannot carry, by the other plan.
    pub peaks: Q,
    /// Everything by the other plan.
    pub all_peaks: Q,
    /// Everything by the base, with as many machines as the largest step needs.
    pub all_base: Q,
}

/// Splits a demand between a base of `machines` and another plan for what goes beyond.
pub(super) fn hybrid(base: &Curve, peaks: &Curve, demand: &[Q], machines: &Q) -> Hybrid {
    let capacity = base.capacity.as_ref().map(|capacity| capacity * &base.useful * machines);
    let carried = |x: &Q| capacity.as_ref().map_or_else(|| x.clone(), |capacity| x.clone().min(capacity.clone()));
    let largest = demand.iter().max().cloned().unwrap_or_else(Q::zero);
    let most = base.machines(&(&largest / &base.useful));
    let unit = |curve: &Curve, x: &Q| {
        let paid = (x / &curve.useful - &curve.free).max(Q::zero());
        &curve.per_unit * paid
    };
    let mut out =
        Hybrid { base: base.once.clone(), peaks: Q::zero(), all_peaks: Q::zero(), all_base: base.once.clone() };
    for x in demand {
        let part = carried(x);
        let rest = x - &part;
        out.base += &base.fixed * machines + unit(base, &part);
        if rest.is_positive() {
            out.peaks += peaks.cost(&rest) - &peaks.once;
        }
        if x.is_positive() {
            out.all_peaks += peaks.cost(x) - &peaks.once;
        }
        out.all_base += &base.fixed * &most + unit(base, x);
    }
    if out.peaks.is_positive() {
        out.peaks += &peaks.once;
    }
    out.all_peaks += &peaks.once;
    out
}

/// A base of so many machines all month, and what goes beyond them, slot by slot of a day, at a price a unit.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::domain) struct Split {
    /// Paid whatever is used: the machines of the base, and what is paid once.
    fixed: Q,
    /// Price of a unit beyond the base.
    per_unit: Q,
    /// Units that the base carries in one slot.
    slot: Q,
    /// From how many units on a further slot is full, ascending, and the share of all units in the slots that are full then.
    full: Vec<(Q, Q)>,
}

impl Split {
    /// A base that costs `fixed` and carries `slot` units in each slot. `shares` say which share of all units falls into
    /// each of them.
    pub(in crate::domain) fn new(fixed: Q, per_unit: Q, slot: Q, shares: Vec<Q>) -> Self {
        let mut shares: Vec<Q> = shares.into_iter().filter(Q::is_positive).collect();
        shares.sort_by(|a, b| b.cmp(a));
        let full = shares.into_iter().scan(Q::zero(), |sum, share| {
            *sum += &share;
            Some((&slot / share, sum.clone()))
        });
        Self { full: full.collect(), fixed, per_unit, slot }
    }

    /// How many slots are full at `x` units, and the share of the units in them.
    fn full_at(&self, x: &Q) -> (usize, Q) {
        let n = self.full.partition_point(|(from, _)| from <= x);
        let share = n.checked_sub(1).and_then(|last| self.full.get(last)).map_or_else(Q::zero, |(_, sum)| sum.clone());
        (n, share)
    }

    /// What `x` units cost.
    pub(in crate::domain) fn cost(&self, x: &Q) -> Q {
        let (n, share) = self.full_at(x);
        if n == 0 {
            return self.fixed.clone();
        }
        let beyond = x * share - &self.slot * Q::from_integer(BigInt::from(n));
        &self.fixed + beyond * &self.per_unit
    }
}

impl Pieces for Split {
    fn after(&self, x: &Q) -> (Q, Q) {
        (self.cost(x), self.full_at(x).1 * &self.per_unit)
    }

    fn next_edge(&self, x: &Q) -> Option<Q> {
        self.full.get(self.full_at(x).0).map(|(from, _)| from.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cost::number::{number, show};

    fn curve(fixed: &str, per_unit: &str, capacity: Option<&str>) -> Curve {
        let q = |text: &str| number(text).unwrap();
        Curve {
            fixed: q(fixed),
            per_unit: q(per_unit),
            capacity: capacity.map(q),
            useful: Q::one(),
            ..Curve::default()
        }
    }

    #[test]
    fn all_crossings_are_found_stairs_included() {
        for (name, a, b, up_to, want) in [
            ("one", curve("0", "2", None), curve("100", "1", None), None, "100"),
            ("none", curve("0", "0.0004", None), curve("1800", "0.0006", None), None, ""),
            ("never dearer", curve("0", "2", None), curve("0", "1", None), None, ""),
            // 100 a machine of 60 units against 2 a unit: cheaper in (50, 60], dearer in (60, 100), cheaper again from 100 on, and so forth; at 300 they only touch.
            (
                "stairs",
                curve("0", "2", None),
                curve("100", "0", Some("60")),
                None,
                "50, 60, 100, 120, 150, 180, 200, 240, 250",
            ),
            ("stairs up to a limit", curve("0", "2", None), curve("100", "0", Some("60")), Some("110"), "50, 60, 100"),
        ] {
            let up_to = up_to.map(|text| number(text).unwrap());
            let got = crossings(&a, &b, up_to.as_ref()).unwrap();
            let got = got.iter().map(show).collect::<Vec<_>>().join(", ");
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn the_first_whole_unit_costs_less() {
        let (a, b) = (curve("0", "2.99", None), curve("1290", "0", None));
        assert_eq!(first_whole(&a, &b, None).unwrap().map(|n| show(&n)).as_deref(), Some("432"));
        let even = curve("10", "1", None);
        assert_eq!(first_whole(&curve("0", "2", None), &even, None).unwrap().map(|n| show(&n)).as_deref(), Some("11"));
    }

    #[test]
    fn a_mix_of_blocks_may_be_cheaper_than_any_one() {
        let block = |price: i64, hours: i64| BlockPrice { price: whole(price), secs: whole(hours * 3600) };
        let blocks = [block(2, 1), block(42, 24), block(260, 168), block(980, 720)];
        let need = Need { secs: whole(17 * 86_400), each_day: None };
        assert_eq!(show(&best_mix(&blocks, &need).unwrap()), "646");
        let short_days = Need { secs: whole(17 * 86_400), each_day: Some(whole(8 * 3600)) };
        assert_eq!(show(&best_mix(&blocks, &short_days).unwrap()), "272", "17 days of 8 hours by the hour");
    }

    #[test]
    fn a_base_with_peaks_elsewhere_bends_where_a_slot_is_full() {
        let q = |text: &str| number(text).unwrap();
        // Half of the day's units in one of three slots; the base carries 50 of each slot for 100.
        let split = Split::new(q("100"), q("2"), q("50"), vec![q("1/4"), q("1/2"), q("1/4")]);
        assert_eq!([100, 200, 300].map(|x| show(&split.cost(&whole(x)))), ["100", "200", "400"]);
        assert_eq!(split.next_edge(&whole(0)), Some(whole(100)));
        assert_eq!(split.next_edge(&whole(100)), Some(whole(200)));
        assert_eq!(split.next_edge(&whole(200)), None);
        // The same by the rule for a demand of each step.
        let base = Curve { fixed: q("100/3"), capacity: Some(q("50")), useful: Q::one(), ..Curve::default() };
        let rest = Curve { per_unit: q("2"), useful: Q::one(), ..Curve::default() };
        let both = hybrid(&base, &rest, &[q("150"), q("75"), q("75")], &Q::one());
        assert_eq!(both.base + both.peaks, split.cost(&whole(300)));
        // All elsewhere is 2 a unit: cheaper up to 50; from there on the base pays.
        let got = crossings_within(&rest, &split, &whole(1000)).unwrap();
        assert_eq!(got, [whole(50)]);
    }
}
