//! What people declare for the cost beside the offers: a managed API to hold them against, and what a part without a
//! price may cost.

use num_bigint::BigInt;
use num_rational::BigRational;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::domain::brief::Brief;
use crate::domain::figure::{Answer, Figure, Gap, GapKind, Input, Origin};
use crate::domain::ids::{CandidateId, ComponentId};
use crate::domain::money::{Exact, Money, option_not_negative, ratio};
use crate::domain::rates::ExchangeRate;

/// Everything declared for the cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CostPlan {
    /// The managed API that could do the work instead.
    pub api: Option<ApiOffer>,
    /// What parts without a price may cost.
    pub ranges: Vec<PriceRange>,
    /// Exchange rates, as typed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<ExchangeRate>,
}

impl CostPlan {
    /// Whether nothing is declared: then the plan's file says nothing about it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a part without a price may cost; `None` where nobody said.
    #[must_use]
    pub fn range(&self, candidate: &CandidateId, component: &ComponentId) -> Option<&PriceRange> {
        self.ranges.iter().find(|range| range.candidate == *candidate && range.component == *component)
    }

    /// The same with this range in the place of the one that was there.
    #[must_use]
    pub fn with_range(mut self, range: PriceRange) -> Self {
        self.ranges.retain(|other| other.candidate != range.candidate || other.component != range.component);
        self.ranges.push(range);
        self
    }
}

/// A managed API: so much for a million tokens, whatever the load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApiOffer {
    /// Its name.
    pub name: String,
    /// Price of 1,000,000 input tokens.
    #[serde(deserialize_with = "option_not_negative")]
    pub input: Option<Money>,
    /// Price of 1,000,000 input tokens that the API has in its cache; as `input` where not stated.
    #[serde(deserialize_with = "option_not_negative")]
    pub cached: Option<Money>,
    /// Price of 1,000,000 output tokens.
    #[serde(deserialize_with = "option_not_negative")]
    pub output: Option<Money>,
    /// Share of the input tokens that is served from the cache, per cent; none where not stated.
    pub cached_percent: Option<Decimal>,
    /// Paid once to move to it.
    #[serde(deserialize_with = "option_not_negative")]
    pub once: Option<Money>,
    /// Months that `once` is spread over.
    pub months: Option<u32>,
}

/// What a part without a price may cost, for one unit of the offer a month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceRange {
    /// Of which candidate.
    pub candidate: CandidateId,
    /// Which line of its price.
    pub component: ComponentId,
    /// At least, a month.
    #[serde(deserialize_with = "crate::domain::money::not_negative")]
    pub low: Money,
    /// At most, a month.
    #[serde(deserialize_with = "crate::domain::money::not_negative")]
    pub high: Money,
}

/// What one request costs on an API: the brief's mean lengths at its prices.
///
/// # Errors
/// The gap that keeps it from existing: a price or a length that is not stated, or two currencies.
pub fn api_request(brief: &Brief, api: &ApiOffer) -> Answer<Exact> {
    let not_stated = |field: &'static str| Gap::new(GapKind::NotStated).with("field", field);
    let of_brief = |field: &'static str| Gap::new(GapKind::BriefField).with("field", field);
    let input_price = api.input.ok_or_else(|| not_stated("price_input"))?;
    let output_price = api.output.ok_or_else(|| not_stated("price_output"))?;
    let cached_price = api.cached.unwrap_or(input_price);
    let input = brief.input_tokens.mean.ok_or_else(|| of_brief("input_tokens"))?;
    let output = brief.output_tokens.mean.ok_or_else(|| of_brief("output_tokens"))?;
    let million = || BigRational::from_integer(BigInt::from(1_000_000));
    let cached = ratio(api.cached_percent.unwrap_or_default()) / BigRational::from_integer(BigInt::from(100));
    let tokens = |count: u32| BigRational::from_integer(BigInt::from(count));
    let fresh = tokens(input) * (BigRational::from_integer(BigInt::from(1)) - &cached);
    let part = |price: Money, tokens: BigRational| Exact::from(price).times(&(tokens / million()));
    let add = |a: &Exact, b: &Exact| {
        a.plus(b).map_err(|two| {
            Gap::new(GapKind::TwoCurrencies).with("first", two.first.code()).with("second", two.second.code())
        })
    };
    let sum = add(&part(input_price, fresh), &part(cached_price, tokens(input) * cached))?;
    let sum = add(&sum, &part(output_price, tokens(output)))?;
    let declared = |name, value: String, unit: &str| Input::leaf(name, value, unit, Origin::Declared);
    let price = |name, money: Money| declared(name, money.amount.to_string(), money.currency.code());
    let inputs = vec![
        declared("input_tokens", input.to_string(), "tokens"),
        declared("cached_share", api.cached_percent.unwrap_or_default().to_string(), "%"),
        price("price_input", input_price),
        price("price_cached", cached_price),
        declared("output_tokens", output.to_string(), "tokens"),
        price("price_output", output_price),
    ];
    Ok(Figure::derived(
        sum,
        "(input_tokens × ((1 − cached_share) × price_input + cached_share × price_cached) + output_tokens × price_output) \
         ÷ 1,000,000",
        inputs,
    ))
}

/// What is paid once for the API, as its share of a month; `None` where nothing is.
///
/// # Errors
/// The gap `NoTerm` where nobody says over how many months.
pub(super) fn api_once(api: &ApiOffer) -> Result<Option<Exact>, Gap> {
    let Some(once) = api.once else { return Ok(None) };
    let months = api
        .months
        .filter(|months| *months > 0)
        .ok_or_else(|| Gap::new(GapKind::NoTerm).with("component", "one_off"))?;
    Ok(Exact::from(once).over(&BigRational::from_integer(BigInt::from(months))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture;

    fn api() -> ApiOffer {
        ApiOffer {
            name: "API".into(),
            input: "0.20 USD".parse().ok(),
            output: "0.60 USD".parse().ok(),
            ..ApiOffer::default()
        }
    }

    #[test]
    fn a_request_costs_its_tokens() {
        let brief = fixture::brief();
        let cached = ApiOffer { cached: "0.05 USD".parse().ok(), cached_percent: "40".parse().ok(), ..api() };
        for (name, api, want) in [
            // 700 × 0.20 + 240 × 0.60, in millionths.
            ("plain", api(), Ok("0.0002840")),
            // 420 × 0.20 + 280 × 0.05 + 240 × 0.60.
            ("cached", cached, Ok("0.0002420")),
            ("no output price", ApiOffer { output: None, ..api() }, Err(GapKind::NotStated)),
            ("two currencies", ApiOffer { output: "1 EUR".parse().ok(), ..api() }, Err(GapKind::TwoCurrencies)),
        ] {
            let got = api_request(&brief, &api).map(|figure| figure.value.show_significant(4)).map_err(|gap| gap.kind);
            assert_eq!(got, want.map(str::to_owned), "{name}");
        }
        assert_eq!(api_once(&ApiOffer { once: "600 USD".parse().ok(), ..api() }).unwrap_err().kind, GapKind::NoTerm);
        let once = api_once(&ApiOffer { once: "600 USD".parse().ok(), months: Some(6), ..api() }).unwrap();
        assert_eq!(once.unwrap().show(), "100.00");
    }

    #[test]
    fn a_plan_without_it_is_written_as_before() {
        assert!(CostPlan::default().is_empty());
        let range = |high: &str| PriceRange {
            candidate: CandidateId("c1".into()),
            component: ComponentId("b1".into()),
            low: "1 USD".parse().unwrap(),
            high: high.parse().unwrap(),
        };
        let plan = CostPlan::default().with_range(range("5 USD")).with_range(range("7 USD"));
        assert_eq!(plan.ranges, [range("7 USD")]);
        let text = ron::to_string(&plan).unwrap();
        assert_eq!(ron::from_str::<CostPlan>(&text).unwrap(), plan);
    }
}
