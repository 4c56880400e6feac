//! What the rows of a bill say against each other and against the specification.

use std::collections::BTreeMap;

use super::bucket::Charge;
use super::cell::{CellNumber, is_null};
use super::decimal::ExactDecimal;
use super::finding::{FindingKind as F, Findings};
use super::format::{self, Columns, Role};
use super::moment::{self, Form, Moment, NoMoment};
use super::rows::Record;

/// Different things of a kind that are remembered (periods, providers).
const MAX_REMEMBERED: usize = 1000;

/// A row with its numbers.
pub(super) struct View<'a> {
    pub(super) columns: &'a Columns,
    pub(super) record: &'a Record,
    /// The numbers of the columns that are read as such.
    pub(super) values: &'a [CellNumber],
    /// The position of a role in these, in the order of `Role::ALL`.
    pub(super) value_of_role: &'a [Option<usize>],
    pub(super) charge: Charge,
    pub(super) is_correction: bool,
}

impl<'a> View<'a> {
    /// The text of a role; empty where there is no value.
    pub(super) fn text(&self, role: Role) -> &'a str {
        let text = self.raw(role);
        if is_null(text) { "" } else { text }
    }

    fn raw(&self, role: Role) -> &'a str {
        self.columns.of_role(role).map_or("", |idx| self.record.cell(idx))
    }

    /// The number of a role, where there is one.
    pub(super) fn number(&self, role: Role) -> Option<&'a ExactDecimal> {
        let at = self.value_of_role.get(role.idx()).copied().flatten()?;
        match self.values.get(at)? {
            CellNumber::Plain(value) | CellNumber::Other(value, ..) => Some(value),
            _ => None,
        }
    }

    /// The name of a role's column.
    pub(super) fn name(&self, role: Role) -> &'a str {
        self.columns.of_role(role).map_or("", |idx| self.columns.name(idx))
    }

    /// Whether somebody else invoices the row: it has an effective cost, no billed one, and no commitment pays for it.
    pub(super) fn is_paid_elsewhere(&self) -> bool {
        self.columns.format.is_focus()
            && self.number(Role::Billed).is_some_and(ExactDecimal::is_zero)
            && self.number(Role::Effective).is_some_and(|effective| !effective.is_zero())
            && !self.has(Role::Commitment)
            && !self.has(Role::CommitmentStatus)
    }

    fn has(&self, role: Role) -> bool {
        !self.text(role).is_empty()
    }
}

/// What is remembered between rows.
#[derive(Debug, Default)]
pub(super) struct Checks {
    is_focus: bool,
    is_azure: bool,
    /// Columns that hold names.
    name_columns: Vec<usize>,
    times: [TimeColumn; 4],
    /// Rows and first line of each billing period, as its two texts with a mark between.
    periods: BTreeMap<String, (u64, u64)>,
    period: String,
    /// Per provider: effective, then contracted cost.
    whole: BTreeMap<String, [Whole; 2]>,
    /// The time of the row that was looked at last.
    pub(super) row_time: Option<(i64, i64)>,
}

/// The last text of a column of times, and what it was read as: neighbours often say the same.
#[derive(Debug, Default)]
struct TimeColumn {
    text: String,
    read: Option<Result<Moment, NoMoment>>,
}

/// Whether a cost column holds whole numbers where the billed amounts do not.
#[derive(Debug, Default)]
struct Whole {
    rows: u64,
    fractions: u64,
    sum: ExactDecimal,
    first_line: u64,
    first_text: String,
}

/// What stands between start and end of a period.
const BETWEEN: &str = " – ";
const TIME_ROLES: [Role; 4] = [Role::Start, Role::End, Role::BillingStart, Role::BillingEnd];
const SPEC_ROLES: [Role; 6] = [
    Role::ServiceCategory,
    Role::ChargeCategory,
    Role::ChargeClass,
    Role::Frequency,
    Role::PricingCategory,
    Role::CommitmentStatus,
];

impl Checks {
    pub(super) fn new(columns: &Columns) -> Self {
        let is_focus = columns.format.is_focus();
        let name_columns = if is_focus {
            let holds_names = |name: &str| format::FOCUS_NAMES.contains(&format::bare(name).as_str());
            columns.names.iter().enumerate().filter(|(_, name)| holds_names(name)).map(|(idx, _)| idx).collect()
        } else {
            Vec::new()
        };
        Self { is_focus, is_azure: columns.format == format::Format::Azure, name_columns, ..Self::default() }
    }

    /// What the names of the columns deviate in.
    pub(super) fn header(columns: &Columns, line: u64, findings: &mut Findings) {
        for (idx, name) in columns.names.iter().enumerate() {
            if columns.names.iter().take(idx).any(|other| other == name) {
                findings.add(F::HeaderTwice, line, "", name);
            }
        }
        if !columns.format.is_focus() {
            return;
        }
        for name in &columns.names {
            match format::focus_spelling(name) {
                Some(known) if known != name => {
                    findings.add_with(F::HeaderSpelling, line, "", name, || vec![("name", known.to_owned())]);
                }
                None if !name.to_lowercase().starts_with("x_") => findings.add(F::ColumnNotInSpec, line, "", name),
                _ => {}
            }
        }
        let missing: Vec<&str> =
            format::FOCUS_MANDATORY.into_iter().filter(|name| columns.find(name).is_none()).collect();
        if !missing.is_empty() {
            let count = u64::try_from(missing.len()).unwrap_or(0);
            findings.counted(F::ColumnMissing, (line, count), "", &missing.join(", "), Vec::new());
        }
    }

    /// Looks at a row.
    pub(super) fn row(&mut self, view: &View<'_>, findings: &mut Findings) {
        self.times(view, findings);
        if self.is_focus {
            self.focus_values(view, findings);
            self.whole_costs(view);
            commitments(view, findings);
        }
        let line = view.record.line;
        if view.charge == Charge::Usage && !view.is_correction {
            let below = |role| view.number(role).is_some_and(ExactDecimal::is_negative);
            if let Some(role) = [Role::Billed, Role::Effective, Role::Quantity].into_iter().find(|role| below(*role)) {
                findings.add(F::NegativeUsage, line, view.name(role), view.raw(role));
            }
        }
        prices(view, self.is_focus, findings);
    }

    fn times(&mut self, view: &View<'_>, findings: &mut Findings) {
        let line = view.record.line;
        let mut times = [None; 4];
        for ((role, memory), time) in TIME_ROLES.into_iter().zip(&mut self.times).zip(&mut times) {
            let text = view.text(role);
            if text.is_empty() {
                continue;
            }
            if memory.read.is_none() || memory.text != text {
                memory.text.clear();
                memory.text.push_str(text);
                memory.read = Some(moment::read(text));
            }
            let Some(read) = memory.read else { continue };
            let shown = |moment: Moment| vec![("value", moment::show(moment.secs))];
            match read {
                Ok(moment) => {
                    match moment.form {
                        Form::Iso | Form::Unix => {}
                        Form::NoZone => findings.add(F::TimeWithoutZone, line, view.name(role), text),
                        _ => findings.add_with(F::TimeForm, line, view.name(role), text, || shown(moment)),
                    }
                    *time = Some(moment);
                }
                Err(NoMoment::Impossible) => findings.add(F::TimeImpossible, line, view.name(role), text),
                Err(NoMoment::Unreadable) => findings.add(F::TimeUnreadable, line, view.name(role), text),
            }
        }
        let [start, end, billing_start, billing_end] = times;
        // A day without an end is that day.
        self.row_time = start.map(|start| {
            let own_end = if start.is_day { start.secs + 86_400 } else { start.secs };
            (start.secs, end.map_or(own_end, |end| end.secs))
        });
        if let (Some(start), Some(end)) = (start, end)
            && end.secs < start.secs
        {
            findings.add_with(F::PeriodReversed, line, view.name(Role::End), view.raw(Role::End), || {
                vec![("start", view.raw(Role::Start).to_owned())]
            });
        }
        self.billing_period(view, billing_start, billing_end, findings);
    }

    fn billing_period(&mut self, view: &View<'_>, start: Option<Moment>, end: Option<Moment>, findings: &mut Findings) {
        let (Some(start), Some(end)) = (start, end) else { return };
        let line = view.record.line;
        let texts = (view.raw(Role::BillingStart), view.raw(Role::BillingEnd));
        self.period.clear();
        self.period.push_str(texts.0);
        self.period.push_str(BETWEEN);
        self.period.push_str(texts.1);
        if let Some((rows, _)) = self.periods.get_mut(&self.period) {
            *rows += 1;
        } else if self.periods.len() < MAX_REMEMBERED {
            self.periods.insert(self.period.clone(), (1, line));
        }
        // Azure names the last day of the period, which belongs to it.
        let is_inclusive = end.is_day && (self.is_azure || is_last_of_month(end.secs)) && !is_first_of_month(end.secs);
        let end_secs = if is_inclusive { end.secs + 86_400 } else { end.secs };
        if is_inclusive {
            findings.add_with(F::InclusiveEnd, line, view.name(Role::BillingEnd), view.raw(Role::BillingEnd), || {
                vec![("value", moment::show(end_secs))]
            });
        }
        let Some((from, until)) = self.row_time else { return };
        if from < start.secs || until > end_secs || from >= end_secs {
            let kind = if view.is_correction { F::CorrectionOfOtherPeriod } else { F::OutsideBillingPeriod };
            let role = if from < start.secs || from >= end_secs { Role::Start } else { Role::End };
            findings.add_with(kind, line, view.name(role), view.raw(role), || {
                vec![("period", format!("{}{BETWEEN}{}", texts.0, texts.1))]
            });
        }
    }

    fn focus_values(&self, view: &View<'_>, findings: &mut Findings) {
        let line = view.record.line;
        for role in SPEC_ROLES {
            let text = view.text(role);
            let allowed = format::focus_values(role);
            if text.is_empty() || allowed.contains(&text) {
                continue;
            }
            match allowed.iter().find(|value| value.eq_ignore_ascii_case(text)) {
                Some(value) => findings
                    .add_with(F::CaseVariant, line, view.name(role), text, || vec![("other", (*value).to_owned())]),
                None => findings.add(F::ValueNotInSpec, line, view.name(role), text),
            }
        }
        for idx in &self.name_columns {
            let text = view.record.cell(*idx);
            if text.starts_with(|c: char| c.is_ascii_digit()) && ExactDecimal::read(text).is_some() {
                findings.add(F::NumberInTextColumn, line, view.columns.name(*idx), text);
            }
        }
        if view.charge == Charge::Purchase && view.text(Role::Frequency).eq_ignore_ascii_case("usage-based") {
            findings.add(F::UsageBasedPurchase, line, view.name(Role::Frequency), view.raw(Role::Frequency));
        }
    }

    /// Counts where effective and contracted cost are whole while the billed amount is not.
    fn whole_costs(&mut self, view: &View<'_>) {
        let Some(billed) = view.number(Role::Billed) else { return };
        if billed.is_whole() || view.has(Role::Commitment) || view.charge == Charge::Purchase {
            return;
        }
        let provider = view.text(Role::Provider);
        if !self.whole.contains_key(provider) {
            if self.whole.len() >= MAX_REMEMBERED {
                return;
            }
            self.whole.insert(provider.to_owned(), <[Whole; 2]>::default());
        }
        let Some(counts) = self.whole.get_mut(provider) else { return };
        for (role, count) in [Role::Effective, Role::Contracted].into_iter().zip(counts) {
            let Some(cost) = view.number(role) else { continue };
            if count.rows == 0 {
                (count.first_line, count.first_text) = (view.record.line, view.raw(role).to_owned());
            }
            count.rows += 1;
            count.fractions += u64::from(!cost.is_whole());
            count.sum.add(cost);
        }
    }

    /// What only the whole file shows.
    pub(super) fn done(&self, columns: &Columns, findings: &mut Findings) {
        let name = |role| columns.of_role(role).map_or("", |idx| columns.name(idx));
        for (provider, counts) in &self.whole {
            for (role, count) in [Role::Effective, Role::Contracted].into_iter().zip(counts) {
                if count.rows >= 3 && count.fractions == 0 {
                    let provider = if provider.is_empty() { "–".to_owned() } else { provider.clone() };
                    let values = vec![
                        ("rows", count.rows.to_string()),
                        ("provider", provider),
                        ("billed", name(Role::Billed).to_owned()),
                        ("value", count.sum.to_string()),
                    ];
                    let at = (count.first_line, count.rows);
                    findings.counted(F::CostIntegral, at, name(role), &count.first_text, values);
                }
            }
        }
        let main = self.periods.values().map(|(rows, _)| *rows).max().unwrap_or(0);
        let mut is_main_seen = false;
        for (period, (rows, line)) in &self.periods {
            if *rows == main && !is_main_seen {
                is_main_seen = true;
            } else {
                let values = vec![("period", period.clone())];
                let (from, _) = period.split_once(BETWEEN).unwrap_or((period, ""));
                findings.counted(F::OtherBillingPeriod, (*line, *rows), name(Role::BillingStart), from, values);
            }
        }
    }
}

fn is_first_of_month(secs: i64) -> bool {
    moment::show(secs).get(8..10) == Some("01")
}

fn is_last_of_month(secs: i64) -> bool {
    is_first_of_month(secs + 86_400)
}

fn commitments(view: &View<'_>, findings: &mut Findings) {
    let line = view.record.line;
    let effective = view.number(Role::Effective);
    let costs = effective.is_some_and(|effective| !effective.is_zero());
    let shown = || effective.map(ToString::to_string).unwrap_or_default();
    if view.charge == Charge::Purchase && view.has(Role::Commitment) && costs {
        findings.add(F::PurchaseWithEffective, line, view.name(Role::Effective), view.raw(Role::Effective));
    }
    if view.is_paid_elsewhere() {
        findings.add_with(F::PaidElsewhere, line, view.name(Role::Billed), view.raw(Role::Billed), || {
            vec![("issuer", view.text(Role::Issuer).to_owned()), ("effective", shown())]
        });
    }
    for (role, price) in [(Role::List, Role::UnitPrice), (Role::Contracted, Role::ContractedUnitPrice)] {
        let is_zero = view.number(role).is_some_and(ExactDecimal::is_zero);
        let is_free = view.number(price).is_some_and(ExactDecimal::is_zero);
        if is_zero && costs && !is_free {
            findings.add_with(F::ZeroForNull, line, view.name(role), view.raw(role), || vec![("effective", shown())]);
        }
    }
}

/// Whether price times quantity is the cost, as far as their digits say.
fn prices(view: &View<'_>, is_focus: bool, findings: &mut Findings) {
    let Some(quantity) = view.number(Role::Quantity) else { return };
    let pairs: &[(Role, Role)] = if is_focus {
        &[(Role::UnitPrice, Role::List), (Role::ContractedUnitPrice, Role::Contracted)]
    } else {
        &[(Role::UnitPrice, Role::Billed)]
    };
    let line = view.record.line;
    let consumed = view.number(Role::Consumed);
    // Where the list cost follows the used quantity and not the priced one, the block size was divided out twice.
    let block = consumed.filter(|consumed| *consumed != quantity).and_then(|consumed| {
        let (price, list) = (view.number(Role::UnitPrice)?, view.number(Role::List)?);
        (!list.is_zero() && agrees(price, consumed, list) && !agrees(price, quantity, list)).then_some(())?;
        consumed.absolute().whole_multiple_of(&quantity.absolute())
    });
    if let Some(factor) = &block {
        findings.add_with(F::QuantityBlock, line, view.name(Role::Quantity), view.raw(Role::Quantity), || {
            vec![("factor", factor.to_string())]
        });
    }
    for (price_role, cost_role) in pairs {
        let (Some(price), Some(cost)) = (view.number(*price_role), view.number(*cost_role)) else { continue };
        let fits = agrees(price, quantity, cost);
        match (&block, consumed) {
            (Some(factor), Some(consumed)) if fits && *cost_role == Role::Contracted => {
                findings.add_with(F::CostBlock, line, view.name(*cost_role), view.raw(*cost_role), || {
                    vec![("factor", factor.to_string()), ("value", price.times(consumed).trimmed())]
                });
            }
            (Some(_), Some(_)) => {}
            _ if !fits => {
                findings.add_with(F::PriceMismatch, line, view.name(*cost_role), view.raw(*cost_role), || {
                    vec![
                        ("price", view.raw(*price_role).trim().to_owned()),
                        ("quantity", view.raw(Role::Quantity).trim().to_owned()),
                        ("value", price.times(quantity).trimmed()),
                    ]
                });
            }
            _ => {}
        }
    }
}

/// Whether price × quantity is the cost within one unit of the last digit of the cost and of the quantity; within ten
/// where a cost has eight or more digits behind the point, since providers round such ones on the way. A quantity without
/// digits behind the point is a count and exact.
fn agrees(price: &ExactDecimal, quantity: &ExactDecimal, cost: &ExactDecimal) -> bool {
    let difference = price.times(quantity).minus(cost).absolute();
    if difference.is_zero() {
        return true;
    }
    let mut allowed = match cost.scale() {
        0 => ExactDecimal::ZERO,
        1..8 => cost.last_digit(),
        _ => cost.last_digit().times(&ExactDecimal::from(10)),
    };
    if quantity.scale() > 0 {
        allowed.add(&quantity.last_digit().times(&price.absolute()));
    }
    difference <= allowed
}
