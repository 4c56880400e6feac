//! What if: the same figures on a changed copy of brief and offers. Nothing of it is part of the record.

use std::sync::Arc;

use rust_decimal::Decimal;

use super::accepted::{CandidateCost, carried_by, cost_of, with_share};
use super::breakeven::{BreakEven, break_even};
use super::declared::CostPlan;
use crate::domain::billing::Status;
use crate::domain::brief::Brief;
use crate::domain::candidate::Candidate;
use crate::domain::figure::Gap;
use crate::domain::ids::CandidateId;
use crate::domain::seen::Run;

/// What is changed. `None` leaves it as it is in the record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WhatIf {
    /// Mean rate, requests a second; the peak moves in proportion.
    pub mean_rate: Option<f64>,
    /// The candidate that the rest is about.
    pub candidate: Option<CandidateId>,
    /// Its prices, per cent of what is offered.
    pub price_percent: Option<u32>,
    /// Months that its one-off costs are spread over.
    pub months: Option<u32>,
    /// Its accepted share.
    pub accepted_share: Option<f64>,
}

impl WhatIf {
    /// Whether anything is changed.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        *self != Self { candidate: self.candidate.clone(), ..Self::default() }
    }
}

/// A candidate with its runs, newest first.
pub type Offered<'a> = (&'a Candidate, &'a [Arc<Run>]);

/// The figures under other assumptions.
#[derive(Debug, Clone, PartialEq)]
pub struct Assumed {
    /// One cost a candidate, in the order given.
    pub costs: Vec<CandidateCost>,
    /// The ways against each other.
    pub break_even: Result<BreakEven, Gap>,
}

/// Computes everything again under other assumptions.
#[must_use]
pub fn what_if(
    brief: &Brief,
    offered: &[Offered<'_>],
    is_demonstration: bool,
    declared: &CostPlan,
    change: &WhatIf,
) -> Assumed {
    let brief = changed_brief(brief, change.mean_rate);
    let (candidates, costs): (Vec<Candidate>, Vec<CandidateCost>) = offered
        .iter()
        .map(|(candidate, runs)| {
            let mut candidate = (*candidate).clone();
            let mut carried = carried_by(&brief, runs, is_demonstration);
            if change.candidate.as_ref() == Some(&candidate.id) {
                if let Some(percent) = change.price_percent {
                    scale_prices(&mut candidate, percent);
                }
                if change.months.is_some() {
                    candidate.term.months = change.months;
                }
                if let Some(share) = change.accepted_share {
                    carried = carried.map(|carried| with_share(carried, share));
                }
            }
            let cost = cost_of(&brief, &candidate, carried);
            (candidate, cost)
        })
        .unzip();
    let pairs: Vec<(&Candidate, &CandidateCost)> = candidates.iter().zip(&costs).collect();
    let break_even = break_even(&brief, &pairs, declared);
    Assumed { costs, break_even }
}

/// The brief with another mean; its peak keeps its proportion.
fn changed_brief(brief: &Brief, mean_rate: Option<f64>) -> Brief {
    let mut out = brief.clone();
    // To the millionth: a slider's steps add up to fractions that nobody asked for.
    let mean_rate = mean_rate.map(|mean| (mean * 1e6).round() / 1e6);
    if let (Some(mean), Some(before)) = (mean_rate, brief.mean_rate.filter(|before| *before > 0.0)) {
        out.mean_rate = Some(mean);
        // To the thousandth, so that a whole proportion stays one.
        out.peak_rate = brief.peak_rate.map(|peak| (peak * mean / before * 1e3).round() / 1e3);
    }
    out
}

/// Every price of an offer at so many per cent. A price that would need more digits than a decimal has stays as it is.
pub(super) fn scale_prices(candidate: &mut Candidate, percent: u32) {
    let factor = Decimal::new(i64::from(percent), 2);
    for component in &mut candidate.billing {
        if let Status::Priced(rate) = &mut component.status {
            for price in std::iter::once(&mut rate.price).chain(component.terms.prices_mut()) {
                price.amount = price.amount.checked_mul(factor).unwrap_or(price.amount);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture;

    #[test]
    fn the_same_functions_on_a_changed_copy() {
        let brief = fixture::brief();
        let offers: Vec<(Candidate, Vec<Arc<Run>>)> = fixture::offers()
            .into_iter()
            .map(|(candidate, points)| (candidate, vec![Arc::new(fixture::run("e1", &brief, 0, points))]))
            .collect();
        let offered: Vec<Offered<'_>> = offers.iter().map(|(one, runs)| (one, runs.as_slice())).collect();
        let declared = CostPlan::default();
        let of_b = |change: WhatIf| {
            let change = WhatIf { candidate: Some(CandidateId("b".into())), ..change };
            let assumed = what_if(&brief, &offered, false, &declared, &change);
            let cost = assumed.costs.into_iter().nth(1).unwrap();
            let per_thousand = cost.per_thousand.map(|figure| figure.value.show_significant(4)).unwrap();
            (per_thousand, cost.month_total.unwrap().value.show(), cost.carried.unwrap().units)
        };
        let got = |a: &str, b: &str, units| (a.to_owned(), b.to_owned(), units);
        assert_eq!(of_b(WhatIf::default()), got("0.1832", "1,225.00", 1));
        // Twice the demand: two machines for twice the work.
        assert_eq!(of_b(WhatIf { mean_rate: Some(5.2), ..WhatIf::default() }), got("0.1832", "2,450.00", 2));
        // Half the demand on the one machine that there has to be.
        assert_eq!(of_b(WhatIf { mean_rate: Some(1.3), ..WhatIf::default() }), got("0.3663", "1,225.00", 1));
        assert_eq!(of_b(WhatIf { price_percent: Some(110), ..WhatIf::default() }), got("0.2015", "1,347.50", 1));
        // 90 once over three months instead of six.
        assert_eq!(of_b(WhatIf { months: Some(3), ..WhatIf::default() }), got("0.1854", "1,240.00", 1));
        // 1,225 ÷ (6,832.8 × 0.5).
        assert_eq!(of_b(WhatIf { accepted_share: Some(0.5), ..WhatIf::default() }), got("0.3586", "1,225.00", 1));
        assert!(!WhatIf { candidate: Some(CandidateId("b".into())), ..WhatIf::default() }.is_changed());
    }
}
