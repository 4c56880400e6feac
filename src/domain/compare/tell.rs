//! Break-even in words, the same on the screen and in the report.

use num_rational::BigRational;
use num_traits::ToPrimitive as _;

use super::breakeven::{BreakEven, Pair, Who};
use super::declared::CostPlan;
use crate::domain::candidate::Candidate;
use crate::domain::format;
use crate::domain::ids::CandidateId;
use crate::domain::text::{Text, fill};

/// Stretches that are named one by one; more of them are counted.
const MOST_NAMED: usize = 4;

/// Speaks of ways by the names in the plan.
#[derive(Debug, Clone, Copy)]
pub struct Teller<'a> {
    /// The words.
    pub text: &'a Text,
    /// The offers.
    pub candidates: &'a [Candidate],
    /// The API's name.
    pub declared: &'a CostPlan,
}

impl Teller<'_> {
    /// The name of the API, or what it is.
    #[must_use]
    pub fn api(&self) -> String {
        let name = self.declared.api.as_ref().map_or("", |api| api.name.trim());
        if name.is_empty() { self.text.cost.managed_api.clone() } else { name.to_owned() }
    }

    /// A way by its name.
    #[must_use]
    pub fn way(&self, who: &Who) -> String {
        let name = |id: &CandidateId| {
            let found = self.candidates.iter().find(|candidate| candidate.id == *id);
            found.map_or_else(|| id.to_string(), |candidate| candidate.name.clone())
        };
        match who {
            Who::Candidate(id) => name(id),
            Who::Api => self.api(),
            Who::Hybrid(id, n) => {
                let values = [("n", n.to_string()), ("candidate", name(id)), ("api", self.api())];
                fill(&self.text.cost.hybrid, &values)
            }
        }
    }

    /// How many requests one step of an axis stands for in this language: a million, or ten thousand.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.text.cost.demand_scale.parse().unwrap_or(1.0)
    }

    /// A demand in a sentence ("5.21 M").
    #[must_use]
    pub fn demand(&self, requests: &BigRational) -> String {
        let scaled = requests.to_f64().unwrap_or(f64::NAN) / self.scale();
        fill(&self.text.cost.demand, &[("n", format::short(scaled))])
    }

    /// Which way costs least on which stretch of the demand, as sentences.
    #[must_use]
    pub fn lowest(&self, of: &BreakEven) -> Vec<String> {
        let words = &self.text.cost;
        let last = of.lowest.len().saturating_sub(1);
        let mut out: Vec<String> = of
            .lowest
            .iter()
            .enumerate()
            .take(MOST_NAMED)
            .map(|(idx, reach)| {
                let template = match (idx, idx == last) {
                    (0, true) => &words.lowest_always,
                    (0, false) => &words.lowest_first,
                    (_, true) => &words.lowest_last,
                    (_, false) => &words.lowest_then,
                };
                fill(template, &[("to", self.demand(&reach.to)), ("way", self.way(&reach.who))])
            })
            .collect();
        if of.lowest.len() > MOST_NAMED {
            let more = (of.lowest.len() - MOST_NAMED).to_string();
            out.push(fill(&words.lowest_more, &[("n", more), ("to", self.demand(&of.up_to))]));
        }
        out
    }

    /// The same in one paragraph.
    #[must_use]
    pub fn lowest_paragraph(&self, of: &BreakEven) -> String {
        // A full-width stop brings its own room.
        self.lowest(of).join(" ").replace("。 ", "。")
    }

    /// Where two ways cost the same, as a sentence with the reason.
    #[must_use]
    pub fn pair(&self, pair: &Pair, up_to: &BigRational) -> String {
        let words = &self.text.cost;
        let mut values = vec![("lower", self.way(&pair.lower)), ("higher", self.way(&pair.higher))];
        match (pair.crossings.as_slice(), &pair.same_up_to) {
            ([], Some(same)) => {
                values.push(("at", self.demand(same)));
                let whole = same >= up_to;
                fill(if whole { &words.pair_same } else { &words.pair_same_first }, &values)
            }
            ([], None) => {
                values.push(("limit", self.demand(up_to)));
                fill(&words.pair_none, &values)
            }
            ([at], _) => {
                values.push(("at", self.demand(at)));
                fill(&words.pair_one, &values)
            }
            ([first, .., last], _) => {
                values.push(("n", pair.crossings.len().to_string()));
                values.push(("first", self.demand(first)));
                values.push(("last", self.demand(last)));
                fill(&words.pair_several, &values)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::CandidateId;
    use crate::domain::text::Language;

    #[test]
    fn none_one_and_several_crossings_in_words() {
        let mut b = Candidate::new(CandidateId("b".into()), 1, "Candidate B".into());
        b.short = "2×L40S".into();
        let declared = CostPlan::default();
        let pair = |crossings: &[i64]| Pair {
            lower: Who::Api,
            higher: Who::Candidate(CandidateId("b".into())),
            crossings: crossings.iter().map(|at| BigRational::from_integer((*at).into())).collect(),
            same_up_to: None,
        };
        let up_to = BigRational::from_integer(14_000_000.into());
        for (language, crossings, want) in [
            (
                Language::En,
                &[][..],
                "Managed API and Candidate B never cost the same up to 14.0 M: Managed API is lower from the start.",
            ),
            (
                Language::En,
                &[5_212_766][..],
                "Managed API and Candidate B cost the same once, at 5.21 M: below it Managed API costs less, above it \
                 Candidate B.",
            ),
            (
                Language::ZhHans,
                &[5_212_766, 6_755_155, 10_425_532][..],
                "托管 API 与 Candidate B 有 3 个平衡点，最低 521 万次，最高 1,043 万次：每加一台就上一级台阶。",
            ),
        ] {
            let teller = Teller { text: Text::of(language), candidates: std::slice::from_ref(&b), declared: &declared };
            assert_eq!(teller.pair(&pair(crossings), &up_to), want);
        }
    }
}
