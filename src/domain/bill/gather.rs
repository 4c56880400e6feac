//! What the rows of a table amount to beside its totals: components, categories, commitments, invoices, runs.

use std::collections::BTreeMap;

use super::bucket::{self, Bucket, Charge, Placed, Placer, Words};
use super::checks::View;
use super::decimal::ExactDecimal;
use super::finding::{FindingKind as F, Findings};
use super::format::{Columns, Format, Role, bare};
use super::matching::{Amounts, Candidate, Matching};
use super::{BillComponent, BucketTotal, Commitment, Options};

/// Components kept apart.
const MAX_COMPONENTS: usize = 5_000;
/// Commitments and invoices kept apart.
const MAX_KEPT: usize = 5_000;

/// The currency of a row: its position among those of the table, and its name.
#[derive(Clone, Copy)]
pub(super) struct RowCurrency<'a> {
    pub(super) at: usize,
    pub(super) code: &'a str,
}

/// What was gathered so far.
pub(super) struct Gathered<'o> {
    options: &'o Options,
    rules: Vec<(usize, &'o str, Bucket)>,
    placer: Placer,
    components: BTreeMap<String, BillComponent>,
    key: String,
    buckets: BTreeMap<(usize, Bucket), Amounts>,
    idle: BTreeMap<usize, Amounts>,
    elsewhere: BTreeMap<usize, Amounts>,
    commitments: BTreeMap<String, Commitment>,
    invoices: BTreeMap<(String, usize), Amounts>,
    matching: Matching,
    sum_so_far: ExactDecimal,
}

/// The same, closed.
pub(super) struct Gathering {
    pub(super) components: Vec<BillComponent>,
    pub(super) buckets: Vec<BucketTotal>,
    pub(super) idle: Vec<(String, Amounts)>,
    pub(super) elsewhere: Vec<(String, Amounts)>,
    pub(super) commitments: BTreeMap<String, Commitment>,
    pub(super) invoices: Vec<(String, String, Amounts)>,
    pub(super) matching: Matching,
}

impl<'o> Gathered<'o> {
    pub(super) fn new(options: &'o Options) -> Self {
        Self {
            options,
            rules: Vec::new(),
            placer: Placer::default(),
            components: BTreeMap::new(),
            key: String::new(),
            buckets: BTreeMap::new(),
            idle: BTreeMap::new(),
            elsewhere: BTreeMap::new(),
            commitments: BTreeMap::new(),
            invoices: BTreeMap::new(),
            matching: Matching::new(&options.targets, options.tolerance_secs),
            sum_so_far: ExactDecimal::ZERO,
        }
    }

    /// Finds the columns that rules name.
    pub(super) fn find_columns(&mut self, columns: &Columns) {
        let rules = self.options.rules.iter();
        self.rules =
            rules.filter_map(|rule| Some((columns.find(&rule.column)?, rule.value.as_str(), rule.bucket))).collect();
    }

    /// Counts a row, which lies in this time.
    pub(super) fn row(
        &mut self,
        view: &View<'_>,
        currency: RowCurrency<'_>,
        time: Option<(i64, i64)>,
        findings: &mut Findings,
    ) {
        let (billed, effective) = (view.number(Role::Billed), view.number(Role::Effective));
        let name =
            bucket::NAMES.into_iter().map(|role| view.text(role)).find(|name| !name.is_empty()).unwrap_or_default();
        let placed = self.place(view, name, findings);
        self.buckets.entry((currency.at, placed.bucket)).or_default().add(billed, effective);
        self.commitment(view, currency.at);
        if view.columns.of_role(Role::Invoice).is_some() {
            let key = (view.text(Role::Invoice).to_owned(), currency.at);
            if self.invoices.contains_key(&key) || self.invoices.len() < MAX_KEPT {
                self.invoices.entry(key).or_default().add(billed, effective);
            }
        }
        self.component(view, currency.code, name, placed);
        if !self.options.targets.is_empty() {
            let (resource, tags) = (view.text(Role::Resource), view.text(Role::Tags));
            let row = Candidate { time, resource, tags, billed, effective };
            self.matching.row(&self.options.targets, &row, |name| {
                let column = view.columns.find(name).or_else(|| view.columns.find(&format!("x_{name}")));
                column.map(|idx| view.record.cell(idx))
            });
        }
        if view.columns.format == Format::Plain {
            self.total_row(view, findings);
        }
    }

    /// What the row pays for: by its words, by a person's rule, by what its numbers say.
    fn place(&mut self, view: &View<'_>, name: &str, findings: &mut Findings) -> Placed {
        let (record, columns) = (view.record, view.columns);
        let mut placed = self.placer.place(&Words {
            charge: view.charge,
            is_correction: view.is_correction,
            meter: view.text(Role::Meter),
            subcategory: view.text(Role::Subcategory),
            service: view.text(Role::Service),
            service_category: view.text(Role::ServiceCategory),
            description: view.text(Role::Description),
            unit: view.text(Role::Unit),
        });
        // A correction or a tax stands apart whatever it is for; a rule speaks of the rest.
        let rule = self.rules.iter().find(|(column, value, _)| record.cell(*column) == *value);
        if let Some((_, _, bucket)) = rule
            && placed.bucket.is_work()
        {
            placed.bucket = *bucket;
        }
        let is_stopped = columns.format == Format::NativeJson
            && columns.of_role(Role::Quantity).is_some_and(|idx| bare(columns.name(idx)).contains("billed"))
            && view.number(Role::Quantity).is_some_and(ExactDecimal::is_zero)
            && view.number(Role::Billed).is_some_and(|billed| !billed.is_zero());
        if is_stopped {
            placed.bucket = Bucket::Storage;
            findings.add(F::BilledWhileStopped, record.line, view.name(Role::Billed), view.text(Role::Billed));
        }
        if placed.bucket == Bucket::Unmapped {
            let role = bucket::NAMES.into_iter().find(|role| view.text(*role) == name);
            findings.add(F::NotMapped, record.line, role.map_or("", |role| view.name(role)), name);
        }
        placed
    }

    fn commitment(&mut self, view: &View<'_>, currency: usize) {
        let (billed, effective) = (view.number(Role::Billed), view.number(Role::Effective));
        let (id, status) = (view.text(Role::Commitment), view.text(Role::CommitmentStatus));
        if status.eq_ignore_ascii_case("unused") {
            self.idle.entry(currency).or_default().add(billed, effective);
        }
        if view.is_paid_elsewhere() {
            self.elsewhere.entry(currency).or_default().add(billed, effective);
        }
        if id.is_empty() || (!self.commitments.contains_key(id) && self.commitments.len() >= MAX_KEPT) {
            return;
        }
        let first_line = view.record.line;
        let entry =
            self.commitments.entry(id.to_owned()).or_insert_with(|| Commitment { first_line, ..Commitment::default() });
        match view.charge {
            Charge::Purchase => entry.purchased.add(billed, effective),
            _ if status.eq_ignore_ascii_case("used") => entry.used.add(billed, effective),
            _ if status.eq_ignore_ascii_case("unused") => entry.unused.add(billed, effective),
            _ => {}
        }
    }

    /// One component for each thing that has its own price.
    fn component(&mut self, view: &View<'_>, currency: &str, name: &str, placed: Placed) {
        let line = view.record.line;
        let unit = match view.text(Role::Unit) {
            "" if bare(view.name(Role::Quantity)) == "timebilledms" => "ms",
            unit => unit,
        };
        let price = view.number(Role::ContractedUnitPrice).or_else(|| view.number(Role::UnitPrice));
        let price = price.map(ExactDecimal::trimmed);
        self.key.clear();
        for part in [placed.bucket.name(), name, unit, price.as_deref().unwrap_or(""), currency] {
            self.key.push_str(part);
            self.key.push('\0');
        }
        if !self.components.contains_key(&self.key) {
            let mut component = BillComponent::new(placed.bucket, name, currency, line);
            if self.components.len() >= MAX_COMPONENTS {
                self.key.clear();
                self.key.push_str(placed.bucket.name());
                component = BillComponent::new(placed.bucket, "(other)", currency, line);
            } else {
                unit.clone_into(&mut component.unit);
                component.unit_price = price;
                component.covers_host = placed.covers_host;
            }
            self.components.entry(self.key.clone()).or_insert(component);
        }
        let Some(component) = self.components.get_mut(&self.key) else { return };
        component.rows += 1;
        component.last_line = line;
        match view.number(Role::Quantity) {
            Some(quantity) => component.quantity.get_or_insert_default().add(quantity),
            None => component.rows_without_quantity += 1,
        }
        for (sum, role) in [(&mut component.billed, Role::Billed), (&mut component.effective, Role::Effective)] {
            if let Some(amount) = view.number(role) {
                sum.get_or_insert_default().add(amount);
            }
        }
    }

    /// Finds a row that repeats the sum of those above it.
    fn total_row(&mut self, view: &View<'_>, findings: &mut Findings) {
        const WORDS: [&str; 8] = ["total", "sum", "grandtotal", "subtotal", "gesamt", "summe", "合计", "总计"];
        let Some(billed) = view.number(Role::Billed) else { return };
        let first = view.record.cells().find(|cell| !cell.trim().is_empty()).unwrap_or_default();
        if *billed == self.sum_so_far && WORDS.contains(&bare(first).as_str()) {
            findings.add(F::TotalRow, view.record.line, "", &view.record.rest(0));
        }
        self.sum_so_far.add(billed);
    }

    /// Counts an amount that no row holds: the rounding between a whole and its parts.
    pub(super) fn add_rounding(&mut self, line: u64, currency: RowCurrency<'_>, amount: &ExactDecimal) {
        self.buckets.entry((currency.at, Bucket::Adjustment)).or_default().add(Some(amount), None);
        let component = self
            .components
            .entry("rounding".to_owned())
            .or_insert_with(|| BillComponent::new(Bucket::Adjustment, "rounding", currency.code, line));
        component.last_line = line;
        component.billed.get_or_insert_default().add(amount);
    }

    /// Closes it: commitments whose two sides differ, then what was gathered.
    pub(super) fn done(self, currencies: &[String], column: &str, findings: &mut Findings) -> Gathering {
        for (id, commitment) in &self.commitments {
            let mut spread = commitment.used.effective.clone();
            spread.add(&commitment.unused.effective);
            let is_spread = commitment.used.rows + commitment.unused.rows > 0;
            if commitment.purchased.rows > 0 && is_spread && commitment.purchased.billed != spread {
                findings.add_with(F::CommitmentUnequal, commitment.first_line, column, id, || {
                    vec![("purchased", commitment.purchased.billed.to_string()), ("spread", spread.to_string())]
                });
            }
        }
        // Rows that name no currency count as in the one that the others name, as in the totals.
        let mut known = currencies.iter().filter(|code| !code.is_empty());
        let sole = known.next().filter(|_| known.next().is_none());
        let code = |at: usize| currencies.get(at).filter(|code| !code.is_empty()).or(sole).cloned().unwrap_or_default();
        let by_currency =
            |map: BTreeMap<usize, Amounts>| map.into_iter().map(|(at, amounts)| (code(at), amounts)).collect();
        Gathering {
            components: self.components.into_values().collect(),
            buckets: self
                .buckets
                .into_iter()
                .map(|((at, bucket), amounts)| BucketTotal { bucket, currency: code(at), amounts })
                .collect(),
            idle: by_currency(self.idle),
            elsewhere: by_currency(self.elsewhere),
            commitments: self.commitments,
            invoices: self.invoices.into_iter().map(|((id, at), amounts)| (id, code(at), amounts)).collect(),
            matching: self.matching,
        }
    }
}
