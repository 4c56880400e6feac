//! What an offer says about a price beside the price: steps, tiers, limits, what it includes, tax, who said so.
//!
//! They are the engine's own types, kept as they were written. Nothing stated is nothing stored: a project without terms
//! is the same file as before there were any.

use chrono::NaiveDate;
use num_traits::Zero as _;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::billing::Category;
use super::cost::{How, MonthBasis, Number, Q, Quantity, Sizes, TierKind, Written};
use super::ids::ComponentId;
use super::money::Money;

/// The terms of a price. Each is `None`, or empty, where nobody stated it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// The price of one unit while the machine is stopped, where it differs.
    #[serde(deserialize_with = "super::money::option_not_negative", skip_serializing_if = "Option::is_none")]
    pub stopped_price: Option<Money>,
    /// Smallest billed step: of time, or of the quantity moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Written<Quantity>>,
    /// Least that is billed for a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Written<Quantity>>,
    /// Other prices from some quantity on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Tiers>,
    /// What is free every month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Written<Quantity>>,
    /// Least that is charged a month.
    #[serde(deserialize_with = "super::money::option_not_negative", skip_serializing_if = "Option::is_none")]
    pub floor_month: Option<Money>,
    /// Most that is charged a month.
    #[serde(deserialize_with = "super::money::option_not_negative", skip_serializing_if = "Option::is_none")]
    pub cap_month: Option<Money>,
    /// How long a month is for this price; the month of the brief where not stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub month: Option<Written<MonthBasis>>,
    /// What the price and its quantity are counted in where "GB" stands; GB where not stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// GB in a TB: 1000 or 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tb: Option<u32>,
    /// Other parts of the machine that this price pays for too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<Category>,
    /// Which component includes this one, where its status says that one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<ComponentId>,
    /// Tax on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax: Option<Tax>,
    /// Who said so.
    #[serde(skip_serializing_if = "PriceSource::is_none")]
    pub source: PriceSource,
}

/// Prices from some quantity on. Below the first one the component's own price holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tiers {
    /// Whether each part has its own price, or the last one reached holds for all.
    #[serde(default)]
    pub kind: TierKind,
    /// The prices, rising by where they begin.
    pub steps: Vec<TierFrom>,
}

/// A price that holds from some quantity on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierFrom {
    /// From this quantity on.
    pub from: Written<Quantity>,
    /// The price of one unit.
    #[serde(deserialize_with = "super::money::not_negative")]
    pub price: Money,
}

/// What a size is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the units themselves")]
pub enum Size {
    GB,
    GiB,
    TB,
    TiB,
}

impl Size {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::GB, Self::GiB, Self::TB, Self::TiB];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GB => "GB",
            Self::GiB => "GiB",
            Self::TB => "TB",
            Self::TiB => "TiB",
        }
    }
}

/// Tax on a price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tax {
    /// As "19 %" or "0.19".
    pub rate: Written<Number>,
    /// Whether the price contains it already.
    #[serde(default)]
    pub included: bool,
    /// Whether it is given back; both are computed where nobody says.
    #[serde(default)]
    pub reclaimable: Option<bool>,
}

/// Who said a price, when, and how it is known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PriceSource {
    /// Page, person or quote number.
    pub who: String,
    /// When.
    pub on: Option<NaiveDate>,
    /// Quoted or measured.
    pub how: Option<How>,
}

impl PriceSource {
    /// Whether nothing is stated.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Terms {
    /// Whether nothing is stated.
    #[must_use]
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether anything is stated that changes an amount.
    #[must_use]
    pub fn change_amounts(&self) -> bool {
        let only_words = Self {
            source: self.source.clone(),
            covers: self.covers.clone(),
            inside: self.inside.clone(),
            ..Self::default()
        };
        *self != only_words
    }

    /// Whether an amount may depend on how many GB a TB has, and nobody says how many.
    #[must_use]
    pub fn leave_tb_open(&self) -> bool {
        let tiers = self.tiers.iter().flat_map(|tiers| tiers.steps.iter().map(|step| &step.from));
        let mut written = [&self.step, &self.minimum, &self.allowance].into_iter().flatten().chain(tiers);
        self.tb.is_none() && (self.size == Some(Size::TB) || written.any(|one| one.value().unit.is_tera()))
    }

    /// Whether its tax may be given back or not, and nobody says which.
    #[must_use]
    pub fn leave_tax_open(&self) -> bool {
        self.tax.as_ref().is_some_and(|tax| tax.reclaimable.is_none())
    }

    /// Every price in it, to change them together with the component's own.
    pub fn prices_mut(&mut self) -> impl Iterator<Item = &mut Money> {
        let tiers = self.tiers.iter_mut().flat_map(|tiers| tiers.steps.iter_mut().map(|step| &mut step.price));
        let others = [&mut self.stopped_price, &mut self.floor_month, &mut self.cap_month];
        others.into_iter().flatten().chain(tiers)
    }
}

/// Reads tiers as people type them, `"1 TB: 0.05; 50 TB: 0.03"`; prices are in the currency of the component's price.
///
/// # Errors
/// The part that is no bound with its price, or does not begin above the one before.
pub fn read_tiers(text: &str, kind: TierKind, currency: iso_currency::Currency) -> Result<Tiers, String> {
    let mut steps: Vec<TierFrom> = Vec::new();
    for part in text.split([';', '；']).map(str::trim).filter(|part| !part.is_empty()) {
        let wrong = || part.to_owned();
        let (from, price) = part.split_once([':', '：']).ok_or_else(wrong)?;
        let from = Written::<Quantity>::parse(from).map_err(|_not_a_quantity| wrong())?;
        let price: Decimal = super::money::parse_decimal(price.trim()).map_err(|_not_an_amount| wrong())?;
        let order = |one: &Quantity| (one.unit.thing.clone(), one.base(&Sizes::default(), &Q::zero()));
        let rises = steps.last().is_none_or(|last| {
            let (before, now) = (order(last.from.value()), order(from.value()));
            before.0 == now.0 && before.1 < now.1
        });
        if price.is_sign_negative() || from.value().number.is_zero() || !rises {
            return Err(wrong());
        }
        steps.push(TierFrom { from, price: Money { amount: price, currency } });
    }
    if steps.is_empty() { Err(text.trim().to_owned()) } else { Ok(Tiers { kind, steps }) }
}

/// The tiers as [`read_tiers`] reads them.
#[must_use]
pub fn show_tiers(tiers: &Tiers) -> String {
    let steps = tiers.steps.iter().map(|step| format!("{}: {}", step.from.text(), step.price.amount));
    steps.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::billing::Component;

    #[test]
    fn nothing_stated_is_nothing_stored() {
        let old = r#"(id:"b1",category:Storage,label:"Disk",status:Priced((price:"0.08 USD",per:GbMonth,quantity:"500")),when_stopped:Some(true))"#;
        let component: Component = ron::from_str(old).unwrap();
        assert!(component.terms.are_none());
        assert_eq!(ron::to_string(&component).unwrap(), old);
    }

    #[test]
    fn what_is_stated_comes_back_as_it_was_written() {
        let text = r#"(step:Some("1 min"),tiers:Some((kind:graduated,steps:[(from:"1 TB",price:"0.05 USD")])),cap_month:Some("6.49 USD"),month:Some("capped 672 h"),covers:[Host],tax:Some((rate:"19 %",included:false,reclaimable:None)))"#;
        let terms: Terms = ron::from_str(text).unwrap();
        assert_eq!(ron::to_string(&terms).unwrap(), text);
        assert!(ron::from_str::<Terms>(r#"(minimum:Some(60.5))"#).is_err(), "a bare number would lose digits");
    }

    #[test]
    fn tiers_are_typed_in_one_line() {
        let read = |text: &str| read_tiers(text, TierKind::Graduated, iso_currency::Currency::USD);
        assert_eq!(
            read("1 TB: 0.05；50 TB：0.03").map(|tiers| show_tiers(&tiers)),
            Ok("1 TB: 0.05; 50 TB: 0.03".into())
        );
        for (text, wrong) in
            [("1 TB 0.05", "1 TB 0.05"), ("50 TB: 0.05; 1 TB: 0.03", "1 TB: 0.03"), ("1 TB: -1", "1 TB: -1")]
        {
            assert_eq!(read(text), Err(wrong.to_owned()), "{text}");
        }
    }
}
