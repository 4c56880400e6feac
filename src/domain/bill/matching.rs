//! Which rows of a bill belong to which component or run: by time, resource and tag.

use num_rational::BigRational;
use num_traits::Zero as _;

use super::decimal::ExactDecimal;

/// A component or a run that rows are looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// Its name.
    pub id: String,
    /// When it began, in seconds since 1970 UTC, included; `None` for any time.
    pub start: Option<i64>,
    /// When it ended, not included.
    pub end: Option<i64>,
    /// The machine, volume or address it was on; `None` for any.
    pub resource: Option<String>,
    /// A label and its value: of a column of this name, or inside the column of tags; `None` for any.
    pub tag: Option<(String, String)>,
}

/// Amounts of rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Amounts {
    /// How many rows.
    pub rows: u64,
    /// Their invoiced amount.
    pub billed: ExactDecimal,
    /// Their spread amount.
    pub effective: ExactDecimal,
}

impl Amounts {
    pub(super) fn add(&mut self, billed: Option<&ExactDecimal>, effective: Option<&ExactDecimal>) {
        self.rows += 1;
        if let Some(billed) = billed {
            self.billed.add(billed);
        }
        if let Some(effective) = effective {
            self.effective.add(effective);
        }
    }
}

impl Amounts {
    pub(super) fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.billed.add(&other.billed);
        self.effective.add(&other.effective);
    }
}

/// What was found for a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matched {
    /// The target's name.
    pub id: String,
    /// Rows whose time lies inside the target's, give or take the tolerance.
    pub inside: Amounts,
    /// Rows of which only a part of the time lies inside.
    pub partly: Amounts,
    /// That part of their invoiced amount, by time.
    pub share_billed: BigRational,
    /// That part of their spread amount, by time.
    pub share_effective: BigRational,
}

/// Rows by target, and those that belong to none or to several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matching {
    /// Seconds by which a row may lie outside and still count as inside.
    pub tolerance_secs: i64,
    /// One entry a target, in their order.
    pub matched: Vec<Matched>,
    /// Rows of no target.
    pub unmatched: Amounts,
    /// Rows that more than one target claims; they are counted for none.
    pub claimed_twice: Amounts,
}

/// What of a row is looked at.
pub(super) struct Candidate<'a> {
    /// Start and end in seconds since 1970, where the row has a time.
    pub(super) time: Option<(i64, i64)>,
    pub(super) resource: &'a str,
    pub(super) tags: &'a str,
    pub(super) billed: Option<&'a ExactDecimal>,
    pub(super) effective: Option<&'a ExactDecimal>,
}

/// How a row lies to a target's time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overlap {
    Inside,
    /// Seconds inside, of how many.
    Partly(i64, i64),
    Outside,
}

impl Matching {
    pub(super) fn new(targets: &[Target], tolerance_secs: i64) -> Self {
        let matched = targets.iter().map(|target| Matched { id: target.id.clone(), ..Matched::default() }).collect();
        Self { tolerance_secs, matched, ..Self::default() }
    }

    /// Adds what another table found.
    pub(super) fn merge(&mut self, other: &Self) {
        for (matched, more) in self.matched.iter_mut().zip(&other.matched) {
            matched.inside.merge(&more.inside);
            matched.partly.merge(&more.partly);
            matched.share_billed += &more.share_billed;
            matched.share_effective += &more.share_effective;
        }
        self.unmatched.merge(&other.unmatched);
        self.claimed_twice.merge(&other.claimed_twice);
    }

    /// Counts a row. `tag_column` answers the cell of a column of that name.
    pub(super) fn row<'a>(
        &mut self,
        targets: &[Target],
        row: &Candidate<'a>,
        tag_column: impl Fn(&str) -> Option<&'a str>,
    ) {
        let mut hits = targets.iter().enumerate().filter_map(|(idx, target)| {
            let resource = target.resource.as_deref().is_none_or(|resource| resource == row.resource);
            let tag = target.tag.as_ref().is_none_or(|(name, value)| {
                tag_column(name) == Some(value) || tag_in(row.tags, name).is_some_and(|found| found == *value)
            });
            if !resource || !tag {
                return None;
            }
            match overlap(target, row.time, self.tolerance_secs) {
                Overlap::Outside => None,
                overlap => Some((idx, overlap)),
            }
        });
        match (hits.next(), hits.next()) {
            (None, _) => self.unmatched.add(row.billed, row.effective),
            (Some(_), Some(_)) => self.claimed_twice.add(row.billed, row.effective),
            (Some((idx, overlap)), None) => {
                let Some(matched) = self.matched.get_mut(idx) else { return };
                match overlap {
                    Overlap::Partly(inside, whole) => {
                        matched.partly.add(row.billed, row.effective);
                        let share = BigRational::new(inside.into(), whole.into());
                        let part = |amount: Option<&ExactDecimal>| {
                            amount.map_or_else(BigRational::zero, |amount| amount.to_ratio() * &share)
                        };
                        matched.share_billed += part(row.billed);
                        matched.share_effective += part(row.effective);
                    }
                    Overlap::Inside | Overlap::Outside => matched.inside.add(row.billed, row.effective),
                }
            }
        }
    }
}

/// Both half-open: an hour that ends when the run begins is not of the run.
fn overlap(target: &Target, time: Option<(i64, i64)>, tolerance: i64) -> Overlap {
    if target.start.is_none() && target.end.is_none() {
        return Overlap::Inside;
    }
    let Some((start, end)) = time else { return Overlap::Outside };
    let (from, until) = (target.start.unwrap_or(i64::MIN), target.end.unwrap_or(i64::MAX));
    if start >= from.saturating_sub(tolerance)
        && end <= until.saturating_add(tolerance)
        && start < until
        && (end > from || end == start)
    {
        return Overlap::Inside;
    }
    let inside = end.min(until).saturating_sub(start.max(from));
    // What the tolerance lets a neighbour reach over the border is no part of this one.
    if inside > tolerance.max(0) && end > start { Overlap::Partly(inside, end - start) } else { Overlap::Outside }
}

/// The value of a label inside a cell of tags, which is a JSON object.
fn tag_in(tags: &str, name: &str) -> Option<String> {
    if !tags.contains(name) {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(tags).ok()?;
    match value.get(name)? {
        serde_json::Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_to_the_run_they_lie_in_and_to_no_second_one() {
        let target = |id: &str, start, end, resource: Option<&str>, tag: Option<(&str, &str)>| Target {
            id: id.to_owned(),
            start,
            end,
            resource: resource.map(str::to_owned),
            tag: tag.map(|(name, value)| (name.to_owned(), value.to_owned())),
        };
        let targets = [
            target("a", Some(3600), Some(7200), Some("m1"), None),
            target("b", Some(7200), Some(9000), Some("m1"), None),
            target("serve", None, None, None, Some(("run", "serve"))),
        ];
        let mut matching = Matching::new(&targets, 5);
        let one = ExactDecimal::read("1.00").unwrap();
        for (start, end, resource, tags) in [
            (3600, 7200, "m1", ""),                     // a
            (3596, 7204, "m1", ""),                     // a, within the tolerance
            (0, 3600, "m1", ""),                        // ends when a begins: none
            (7200, 10_800, "m1", ""),                   // half of it is b
            (3600, 7200, "m2", ""),                     // another machine: none
            (0, 60, "m2", "{\"run\": \"serve\"}"),      // serve
            (3600, 7200, "m1", "{\"run\": \"serve\"}"), // a and serve: nobody's
        ] {
            let row = Candidate { time: Some((start, end)), resource, tags, billed: Some(&one), effective: None };
            matching.row(&targets, &row, |_| None);
        }
        let rows: Vec<(u64, u64)> =
            matching.matched.iter().map(|matched| (matched.inside.rows, matched.partly.rows)).collect();
        assert_eq!(rows, [(2, 0), (0, 1), (1, 0)]);
        assert_eq!(matching.matched[1].share_billed, BigRational::new(1.into(), 2.into()));
        assert_eq!((matching.unmatched.rows, matching.claimed_twice.rows), (2, 1));
        assert_eq!(matching.matched[0].inside.billed.to_string(), "2.00");
    }
}
