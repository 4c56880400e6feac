//! Plan against bill: what was planned for each kind of thing, what came, and what stands apart.

use num_rational::BigRational;
use num_traits::Zero as _;

use super::bucket::Bucket;
use super::matching::Amounts;
use super::{Bill, BucketTotal};

/// Which of the two complete readings of a bill is held against the plan. They are never added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// What is invoiced.
    Cash,
    /// What the work cost, commitments spread over their term.
    Accrual,
}

/// An amount of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedAmount {
    /// What it is for.
    pub bucket: Bucket,
    /// How much, in the currency of the comparison.
    pub amount: BigRational,
}

/// A kind of thing in both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// What it is for.
    pub bucket: Bucket,
    /// What was planned; `None` where the plan says nothing.
    pub planned: Option<BigRational>,
    /// What was billed; `None` where no row is for it.
    pub billed: Option<BigRational>,
    /// Billed less planned.
    pub variance: BigRational,
}

/// Plan and bill side by side. Amounts are of one currency and one basis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciled {
    /// Which reading of the bill this is.
    pub basis: Basis,
    /// Each kind of thing that work costs, in table order.
    pub lines: Vec<Compared>,
    /// Planned for work.
    pub planned: BigRational,
    /// Billed for work: without corrections, credits, tax and rounding.
    pub billed: BigRational,
    /// Billed for work less planned.
    pub variance: BigRational,
    /// Billed where nothing was planned; inside the variance.
    pub unplanned: BigRational,
    /// Planned where nothing was billed; inside the variance, with the other sign.
    pub not_billed: BigRational,
    /// Corrections of other periods and refunds.
    pub corrections: BigRational,
    /// Credits and discounts.
    pub credits: BigRational,
    /// Tax.
    pub tax: BigRational,
    /// Rounding and other adjustments.
    pub rounding: BigRational,
    /// Work and all that stands apart: the whole bill on this basis.
    pub whole: BigRational,
    /// Effective cost that another issuer invoices; inside the accrual, not in the cash.
    pub elsewhere: BigRational,
    /// Paid and not used; a view on amounts that are counted already.
    pub idle: BigRational,
}

/// Holds a plan against a bill, in one currency. Rows of other currencies are not looked at: without a dated rate there
/// is no sum.
#[must_use]
pub fn reconcile(plan: &[PlannedAmount], bill: &Bill, currency: &str, basis: Basis) -> Reconciled {
    let totals: Vec<BucketTotal> = bill.buckets.iter().filter(|total| total.currency == currency).cloned().collect();
    let mut reconciled = reconcile_amounts(plan, &totals, basis);
    let effective = |list: &[(String, Amounts)]| {
        list.iter()
            .filter(|(code, _)| code == currency)
            .map(|(_, amounts)| amounts.effective.to_ratio())
            .fold(BigRational::zero(), |sum, amount| sum + amount)
    };
    reconciled.elsewhere = effective(&bill.elsewhere);
    reconciled.idle = effective(&bill.idle);
    reconciled
}

/// The same for amounts by kind, all of one currency.
#[must_use]
pub fn reconcile_amounts(plan: &[PlannedAmount], bill: &[BucketTotal], basis: Basis) -> Reconciled {
    let zero = BigRational::zero;
    let billed_for = |bucket: Bucket| {
        bill.iter()
            .filter(|total| total.bucket == bucket)
            .map(|total| amount(&total.amounts, basis))
            .reduce(|a, b| a + b)
    };
    let planned_for = |bucket: Bucket| {
        plan.iter()
            .filter(|planned| planned.bucket == bucket)
            .map(|planned| planned.amount.clone())
            .reduce(|a, b| a + b)
    };
    let lines: Vec<Compared> = Bucket::ALL
        .into_iter()
        .filter(|bucket| bucket.is_work())
        .filter_map(|bucket| {
            let (planned, billed) = (planned_for(bucket), billed_for(bucket));
            if planned.is_none() && billed.is_none() {
                return None;
            }
            let variance = billed.clone().unwrap_or_else(zero) - planned.clone().unwrap_or_else(zero);
            Some(Compared { bucket, planned, billed, variance })
        })
        .collect();
    let total = |value: fn(&Compared) -> Option<&BigRational>| {
        lines.iter().filter_map(value).fold(zero(), |sum, amount| sum + amount)
    };
    let apart = |bucket| billed_for(bucket).unwrap_or_else(zero);
    let is_planned = |line: &&Compared| line.planned.as_ref().is_some_and(|planned| !planned.is_zero());
    let (planned, billed) = (total(|line| line.planned.as_ref()), total(|line| line.billed.as_ref()));
    let (corrections, credits) = (apart(Bucket::Correction), apart(Bucket::Credit));
    let (tax, rounding) = (apart(Bucket::Tax), apart(Bucket::Adjustment));
    Reconciled {
        basis,
        variance: &billed - &planned,
        unplanned: lines.iter().filter(|line| !is_planned(line)).fold(zero(), |sum, line| sum + &line.variance),
        not_billed: lines.iter().filter(|line| line.billed.is_none()).fold(zero(), |sum, line| sum - &line.variance),
        whole: &billed + &corrections + &credits + &tax + &rounding,
        planned,
        billed,
        corrections,
        credits,
        tax,
        rounding,
        elsewhere: zero(),
        idle: zero(),
        lines,
    }
}

fn amount(amounts: &Amounts, basis: Basis) -> BigRational {
    match basis {
        Basis::Cash => amounts.billed.to_ratio(),
        Basis::Accrual => amounts.effective.to_ratio(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::decimal::ExactDecimal;
    use super::*;

    fn number(text: &str) -> ExactDecimal {
        ExactDecimal::read(text).unwrap()
    }

    fn plan(lines: &[(Bucket, &str)]) -> Vec<PlannedAmount> {
        lines.iter().map(|(bucket, text)| PlannedAmount { bucket: *bucket, amount: number(text).to_ratio() }).collect()
    }

    fn billed(lines: &[(Bucket, &str)]) -> Vec<BucketTotal> {
        lines
            .iter()
            .map(|(bucket, text)| BucketTotal {
                bucket: *bucket,
                currency: "EUR".to_owned(),
                amounts: Amounts { rows: 1, billed: number(text), effective: ExactDecimal::ZERO },
            })
            .collect()
    }

    #[test]
    fn a_line_nobody_planned_is_inside_the_variance_and_named() {
        let plan = plan(&[
            (Bucket::Accelerator, "1200"),
            (Bucket::Storage, "40"),
            (Bucket::Network, "0"),
            (Bucket::Setup, "10"),
        ]);
        let bill = billed(&[
            (Bucket::Accelerator, "1254.30"),
            (Bucket::Storage, "38.20"),
            (Bucket::Network, "91.05"),
            (Bucket::SupportLicence, "41.51"),
            (Bucket::Tax, "270.76"),
            (Bucket::Credit, "-100"),
            (Bucket::Correction, "-7.5"),
            (Bucket::Adjustment, "-0.004"),
        ]);
        let got = reconcile_amounts(&plan, &bill, Basis::Cash);
        let ratio = |text: &str| number(text).to_ratio();
        assert_eq!((got.planned.clone(), got.billed.clone()), (ratio("1250"), ratio("1425.06")));
        assert_eq!((got.variance.clone(), got.unplanned.clone()), (ratio("175.06"), ratio("132.56")));
        assert_eq!(got.not_billed, ratio("10"));
        assert_eq!(
            (got.tax.clone(), got.credits.clone(), got.corrections.clone(), got.rounding.clone()),
            (ratio("270.76"), ratio("-100"), ratio("-7.5"), ratio("-0.004"))
        );
        assert_eq!(got.whole, ratio("1588.316"));
        let variances: Vec<_> = got.lines.iter().map(|line| (line.bucket, line.variance.clone())).collect();
        assert_eq!(
            variances,
            [
                (Bucket::Accelerator, ratio("54.30")),
                (Bucket::Storage, ratio("-1.80")),
                (Bucket::Network, ratio("91.05")),
                (Bucket::SupportLicence, ratio("41.51")),
                (Bucket::Setup, ratio("-10")),
            ]
        );
    }

    #[test]
    fn nothing_planned_and_nothing_billed_is_an_empty_table() {
        let got = reconcile_amounts(&[], &[], Basis::Accrual);
        assert!(got.lines.is_empty() && got.whole.is_zero() && got.variance.is_zero());
    }
}
