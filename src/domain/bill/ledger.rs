//! The running totals of one table of a bill.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher, Hash as _, Hasher as _};

use super::bucket::{self, Bucket, Charge, Placer, Words};
use super::cell::{self, CellNumber, DecimalMark, Way, is_null};
use super::checks::{Checks, View};
use super::decimal::ExactDecimal;
use super::finding::{FindingKind as F, Findings};
use super::format::{Columns, Format, Role, Said, bare};
use super::matching::{Amounts, Candidate, Matching};
use super::native::DETAIL;
use super::refusal::Refusal;
use super::rows::Record;
use super::{BillComponent, BucketTotal, ColumnTotal, Commitment, Group, Options, Table, Totals};

/// The key of a cell without a value in a grouping.
const NULL: &str = "(null)";
/// Values kept apart in all groupings together.
const MAX_GROUPS: usize = 100_000;
/// Components kept apart.
const MAX_COMPONENTS: usize = 5_000;
/// Commitments, invoices and spellings kept apart, a kind.
const MAX_KEPT: usize = 5_000;
/// Rows that are remembered to find identical ones.
const MAX_REMEMBERED: usize = 3_500_000;

/// A sum that grows.
#[derive(Debug, Clone, Default)]
struct Running {
    sum: ExactDecimal,
    values: u64,
    unreadable: u64,
}

/// Rows of one currency in a group.
#[derive(Debug, Default)]
struct Part {
    currency: usize,
    rows: u64,
    sums: Vec<Running>,
}

/// Rows of one value of a grouping; nearly always of one currency.
#[derive(Debug, Default)]
struct Parts(Vec<Part>);

impl Parts {
    fn add(&mut self, currency: usize, values: &[CellNumber], sums: &[usize]) {
        let at = self.0.iter().position(|part| part.currency == currency).unwrap_or_else(|| {
            self.0.push(Part { currency, ..Part::default() });
            self.0.len() - 1
        });
        let Some(part) = self.0.get_mut(at) else { return };
        part.rows += 1;
        part.sums.resize(sums.len().max(part.sums.len()), Running::default());
        for (running, at) in part.sums.iter_mut().zip(sums) {
            match values.get(*at) {
                Some(CellNumber::Plain(value) | CellNumber::Other(value, ..)) => {
                    running.sum.add(value);
                    running.values += 1;
                }
                Some(CellNumber::Unreadable | CellNumber::Ambiguous(..)) => running.unreadable += 1,
                Some(CellNumber::Null) | None => {}
            }
        }
    }
}

struct Grouping {
    names: Vec<String>,
    columns: Vec<Option<usize>>,
    groups: BTreeMap<String, Parts>,
}

/// A column of numbers that stands in no sum is read too, for prices and quantities.
struct Numbers {
    /// Their columns.
    columns: Vec<usize>,
    /// The position of a role in them.
    of_role: Vec<Option<usize>>,
    /// The position of each summed column in them.
    sums: Vec<usize>,
}

impl Numbers {
    fn of(columns: &Columns) -> Self {
        let mut numbers = columns.sums.clone();
        for (role, _) in Role::ALL {
            if let Some(idx) = columns.of_role(role)
                && role.is_number()
                && !numbers.contains(&idx)
            {
                numbers.push(idx);
            }
        }
        let position = |idx: usize| numbers.iter().position(|other| *other == idx);
        let of_role = Role::ALL
            .iter()
            .map(|(role, _)| columns.of_role(*role).filter(|_| role.is_number()).and_then(position))
            .collect();
        let sums = columns.sums.iter().filter_map(|idx| position(*idx)).collect();
        Self { columns: numbers, of_role, sums }
    }
}

/// The words for no value in a column.
#[derive(Debug, Clone, Default)]
struct NullWords {
    count: u64,
    line: u64,
    column: usize,
    text: String,
}

/// Spellings of the values of a column.
struct Spellings {
    column: usize,
    last: String,
    known: BTreeMap<String, String>,
    folded: BTreeMap<String, String>,
}

/// The running totals of one table.
pub(super) struct Ledger<'o> {
    pub(super) name: String,
    options: &'o Options,
    mark: DecimalMark,
    pub(super) columns: Columns,
    numbers: Numbers,
    values: Vec<CellNumber>,
    rows: u64,
    all: Parts,
    groupings: Vec<Grouping>,
    n_groups: usize,
    key: String,
    currencies: Vec<String>,
    currency_lines: Vec<(u64, u64)>,
    rules: Vec<(usize, String, Bucket)>,
    placer: Placer,
    components: BTreeMap<String, BillComponent>,
    component_key: String,
    buckets: BTreeMap<(usize, Bucket), Amounts>,
    idle: BTreeMap<usize, Amounts>,
    elsewhere: BTreeMap<usize, Amounts>,
    commitments: BTreeMap<String, Commitment>,
    invoices: BTreeMap<(String, usize), Amounts>,
    pub(super) matching: Matching,
    checks: Checks,
    nulls: NullWords,
    /// The first line without a value, for each summed column.
    first_nulls: Vec<u64>,
    spellings: Vec<Spellings>,
    seen: HashMap<u64, u32, BuildHasherDefault<DefaultHasher>>,
    sum_so_far: ExactDecimal,
    /// Whether the row that comes is told by its parts: then it is no component of its own.
    pub(super) is_whole_of_parts: bool,
}

impl<'o> Ledger<'o> {
    /// Starts a table with these columns.
    ///
    /// # Errors
    /// `Refusal` where a column that was asked for is not there.
    pub(super) fn new(
        name: String,
        names: Vec<String>,
        is_json: bool,
        mark: DecimalMark,
        options: &'o Options,
    ) -> Result<Self, Refusal> {
        let said = said(options, is_json, &names);
        let columns = Columns::of(names, is_json, &Said { map: &said.0, sum: &said.1 })?;
        let checks = Checks::new(&columns);
        let numbers = Numbers::of(&columns);
        let mut ledger = Self {
            name,
            options,
            mark,
            numbers,
            values: Vec::new(),
            rows: 0,
            all: Parts::default(),
            groupings: Vec::new(),
            n_groups: 0,
            key: String::new(),
            currencies: Vec::new(),
            currency_lines: Vec::new(),
            rules: Vec::new(),
            placer: Placer::default(),
            components: BTreeMap::new(),
            component_key: String::new(),
            buckets: BTreeMap::new(),
            idle: BTreeMap::new(),
            elsewhere: BTreeMap::new(),
            commitments: BTreeMap::new(),
            invoices: BTreeMap::new(),
            matching: Matching::new(&options.targets, options.tolerance_secs),
            checks,
            nulls: NullWords::default(),
            first_nulls: Vec::new(),
            spellings: Vec::new(),
            seen: HashMap::default(),
            sum_so_far: ExactDecimal::ZERO,
            is_whole_of_parts: false,
            columns,
        };
        ledger.groupings = options
            .by
            .iter()
            .map(|names| Grouping { names: names.clone(), columns: vec![None; names.len()], groups: BTreeMap::new() })
            .collect();
        if ledger.name.ends_with(DETAIL) {
            let names = vec!["type".to_owned()];
            ledger.groupings.push(Grouping { names, columns: vec![None], groups: BTreeMap::new() });
        }
        ledger.find_columns();
        Ok(ledger)
    }

    /// Says which decimal mark the numbers have.
    pub(super) fn set_mark(&mut self, mark: DecimalMark) {
        self.mark = mark;
    }

    /// The columns that are read as numbers.
    pub(super) fn number_columns(&self) -> &[usize] {
        &self.numbers.columns
    }

    /// Finds the columns that people named.
    fn find_columns(&mut self) {
        let columns = &self.columns;
        for grouping in &mut self.groupings {
            for (column, name) in grouping.columns.iter_mut().zip(&grouping.names) {
                *column = columns.find(name);
            }
        }
        self.rules = self
            .options
            .rules
            .iter()
            .filter_map(|rule| Some((columns.find(&rule.column)?, rule.value.clone(), rule.bucket)))
            .collect();
        let mut spelled: Vec<usize> = [
            Role::Currency,
            Role::Unit,
            Role::ConsumedUnit,
            Role::Meter,
            Role::Service,
            Role::Provider,
            Role::ChargeCategory,
            Role::Frequency,
            Role::PricingCategory,
            Role::ServiceCategory,
            Role::CommitmentStatus,
        ]
        .into_iter()
        .filter_map(|role| columns.of_role(role))
        .chain(self.groupings.iter().flat_map(|grouping| grouping.columns.iter().copied().flatten()))
        .collect();
        spelled.sort_unstable();
        spelled.dedup();
        for column in spelled {
            if !self.spellings.iter().any(|spellings| spellings.column == column) {
                self.spellings.push(Spellings {
                    column,
                    last: String::new(),
                    known: BTreeMap::new(),
                    folded: BTreeMap::new(),
                });
            }
        }
    }

    /// A grouping whose columns this table does not all have.
    pub(super) fn lacks(&self, grouping: usize) -> Option<&str> {
        let grouping = self.groupings.get(grouping)?;
        grouping.names.iter().zip(&grouping.columns).find(|(_, column)| column.is_none()).map(|(name, _)| name.as_str())
    }

    /// Adds columns that only later records have.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn extend(&mut self, new: Vec<String>) -> Result<(), Refusal> {
        let mut names = self.columns.names.clone();
        names.extend(new);
        let said = said(self.options, true, &names);
        self.columns = Columns::of(names, true, &Said { map: &said.0, sum: &said.1 })?;
        self.numbers = Numbers::of(&self.columns);
        self.find_columns();
        Ok(())
    }

    /// Counts a row.
    pub(super) fn row(&mut self, record: &Record, findings: &mut Findings) {
        self.rows += 1;
        self.shape(record, findings);
        self.null_words(record);
        self.read_numbers(record, findings);
        let currency = self.currency(record, findings);
        self.all.add(currency, &self.values, &self.numbers.sums);
        self.group(record, currency, findings);
        self.spell(record, findings);
        self.remember(record, findings);
        self.meaning(record, currency, findings);
    }

    /// What is wrong with the row as a row.
    fn shape(&self, record: &Record, findings: &mut Findings) {
        let (have, want) = (record.len(), self.columns.names.len());
        let counts = || vec![("have", have.to_string()), ("want", want.to_string())];
        let (line, marks) = (record.line, record.marks);
        let name = |idx: usize| self.columns.name(idx);
        if let Some(idx) = marks.open_quote {
            findings.add(F::OpenQuote, line, name(idx), record.cell(idx));
        } else if have < want {
            let kind = if marks.at_end { F::CutFile } else { F::TooFewCells };
            findings.add_with(kind, line, name(have), &record.rest(0), counts);
        } else if have > want {
            findings.add_with(F::TooManyCells, line, "", &record.rest(want), counts);
        }
        if let Some(idx) = marks.stray_quote {
            findings.add(F::StrayQuote, line, name(idx), record.cell(idx));
        }
        if let Some(idx) = marks.not_utf8 {
            findings.add(F::NotUtf8, line, name(idx), record.cell(idx));
        }
    }

    fn null_words(&mut self, record: &Record) {
        for (idx, text) in record.cells().enumerate() {
            if (3..=8).contains(&text.len()) && is_null(text) && !text.trim().is_empty() {
                if self.nulls.count == 0 {
                    self.nulls = NullWords { count: 0, line: record.line, column: idx, text: text.to_owned() };
                }
                self.nulls.count += 1;
            }
        }
    }

    fn read_numbers(&mut self, record: &Record, findings: &mut Findings) {
        self.values.clear();
        self.first_nulls.resize(self.columns.sums.len(), 0);
        for (at, idx) in self.numbers.columns.iter().enumerate() {
            let text = record.cell(*idx);
            let value = cell::read(text, self.mark);
            let name = self.columns.name(*idx);
            let line = record.line;
            let is_summed = at < self.columns.sums.len();
            match &value {
                CellNumber::Plain(_) => {}
                CellNumber::Null => {
                    if let Some(first) = self.first_nulls.get_mut(at).filter(|first| **first == 0) {
                        *first = line;
                    }
                }
                CellNumber::Other(value, _, way) => {
                    let kind = if *way == Way::Comma { F::DecimalComma } else { F::NumberForm };
                    findings.add_with(kind, line, name, text, || vec![("value", value.to_string())]);
                }
                CellNumber::Ambiguous(low, high) => findings.add_with(F::NumberAmbiguous, line, name, text, || {
                    vec![("low", low.to_string()), ("high", high.to_string())]
                }),
                CellNumber::Unreadable if is_summed => findings.add(F::NumberUnreadable, line, name, text),
                CellNumber::Unreadable => findings.add(F::QuantityUnreadable, line, name, text),
            }
            self.values.push(value);
        }
        if let Some(code) =
            self.columns.of_role(Role::Currency).map(|idx| record.cell(idx)).filter(|code| !is_null(code))
        {
            for (value, idx) in self.values.iter().zip(&self.numbers.columns) {
                if let CellNumber::Other(_, Some(mark), _) = value
                    && mark.len() == 3
                    && !mark.eq_ignore_ascii_case(code)
                {
                    let name = self.columns.name(*idx);
                    findings.add_with(F::CurrencyConflict, record.line, name, record.cell(*idx), || {
                        vec![("mark", mark.clone()), ("currency", code.to_owned())]
                    });
                }
            }
        }
    }

    /// The position of the row's currency among those of the table. The empty one is none.
    fn currency(&mut self, record: &Record, findings: &mut Findings) -> usize {
        let said = self.columns.of_role(Role::Currency).map_or("", |idx| record.cell(idx));
        let mut code = if is_null(said) { self.options.currency.as_deref().unwrap_or("") } else { said.trim() };
        // In a row with too few or too many cells, and where no letter stands, something else is in this column. Taken
        // for a currency, one broken row would leave a whole bill without a sum.
        let is_broken = record.len() != self.columns.names.len() && !self.currencies.iter().any(|other| other == code);
        if !code.is_empty() && (is_broken || !code.contains(char::is_alphabetic)) {
            let column = self.columns.of_role(Role::Currency).map_or("", |idx| self.columns.name(idx));
            findings.add(F::CurrencyUnreadable, record.line, column, said);
            code = "";
        }
        let at = self.currencies.iter().position(|other| other == code).unwrap_or_else(|| {
            // A column of currencies with that many values holds something else.
            if self.currencies.len() >= 200 {
                return self.currencies.len() - 1;
            }
            self.currencies.push(code.to_owned());
            self.currency_lines.push((0, record.line));
            self.currencies.len() - 1
        });
        if let Some((rows, _)) = self.currency_lines.get_mut(at) {
            *rows += 1;
        }
        at
    }

    fn group(&mut self, record: &Record, currency: usize, findings: &mut Findings) {
        for grouping in &mut self.groupings {
            self.key.clear();
            for (n, column) in grouping.columns.iter().enumerate() {
                if n > 0 {
                    self.key.push('|');
                }
                let text = column.map_or("", |idx| record.cell(idx));
                self.key.push_str(if is_null(text) { NULL } else { text });
            }
            if !grouping.groups.contains_key(&self.key) {
                if self.n_groups >= MAX_GROUPS {
                    let label = grouping.names.join("+");
                    let kept = || vec![("kept", MAX_GROUPS.to_string())];
                    findings.add_with(F::TooManyValues, record.line, &label, &self.key, kept);
                    self.key.clear();
                    self.key.push_str("(other values)");
                }
                self.n_groups += 1;
                grouping.groups.entry(self.key.clone()).or_default();
            }
            if let Some(parts) = grouping.groups.get_mut(&self.key) {
                parts.add(currency, &self.values, &self.numbers.sums);
            }
        }
    }

    /// Finds values that differ from others only in case.
    fn spell(&mut self, record: &Record, findings: &mut Findings) {
        let spec = if self.columns.format.is_focus() {
            [
                Role::ChargeCategory,
                Role::Frequency,
                Role::PricingCategory,
                Role::ServiceCategory,
                Role::CommitmentStatus,
            ]
            .map(|role| self.columns.of_role(role))
        } else {
            [None; 5]
        };
        for spellings in &mut self.spellings {
            let text = record.cell(spellings.column);
            if spellings.last == text || text.is_empty() || is_null(text) || spec.contains(&Some(spellings.column)) {
                continue;
            }
            spellings.last.clear();
            spellings.last.push_str(text);
            let name = self.columns.name(spellings.column);
            if let Some(other) = spellings.known.get(text) {
                if !other.is_empty() {
                    findings.add_with(F::CaseVariant, record.line, name, text, || vec![("other", other.clone())]);
                }
                continue;
            }
            if spellings.known.len() >= MAX_KEPT {
                continue;
            }
            let folded = text.to_lowercase();
            let other = match spellings.folded.get(&folded) {
                Some(other) => {
                    findings.add_with(F::CaseVariant, record.line, name, text, || vec![("other", other.clone())]);
                    other.clone()
                }
                None => {
                    spellings.folded.insert(folded, text.to_owned());
                    String::new()
                }
            };
            spellings.known.insert(text.to_owned(), other);
        }
    }

    /// Finds rows that are the same as earlier ones.
    fn remember(&mut self, record: &Record, findings: &mut Findings) {
        let mut hasher = DefaultHasher::new();
        record.text().hash(&mut hasher);
        record.ends().hash(&mut hasher);
        let hash = hasher.finish();
        if let Some(line) = self.seen.get(&hash) {
            let line = line.to_string();
            findings.add_with(F::IdenticalRow, record.line, "", &record.rest(0), || vec![("other", line)]);
        } else if self.seen.len() < MAX_REMEMBERED {
            self.seen.insert(hash, u32::try_from(record.line).unwrap_or(u32::MAX));
        }
    }

    /// What the row is for, and what it says against others.
    fn meaning(&mut self, record: &Record, currency: usize, findings: &mut Findings) {
        let columns = &self.columns;
        let text = |role: Role| {
            let text = columns.of_role(role).map_or("", |idx| record.cell(idx));
            if is_null(text) { "" } else { text }
        };
        let class = text(Role::ChargeClass);
        let view = View {
            columns,
            record,
            values: &self.values,
            value_of_role: &self.numbers.of_role,
            charge: Charge::of(text(Role::ChargeCategory)),
            is_correction: class.eq_ignore_ascii_case("correction") || class.eq_ignore_ascii_case("true"),
        };
        self.checks.row(&view, findings);
        if self.is_whole_of_parts {
            return;
        }
        let (billed, effective) = (view.number(Role::Billed), view.number(Role::Effective));
        let rule = self.rules.iter().find(|(column, value, _)| record.cell(*column) == value);
        let words = Words {
            charge: view.charge,
            is_correction: view.is_correction,
            meter: text(Role::Meter),
            subcategory: text(Role::Subcategory),
            service: text(Role::Service),
            service_category: text(Role::ServiceCategory),
            description: text(Role::Description),
            unit: text(Role::Unit),
        };
        let mut placed = self.placer.place(&words);
        // A correction or a tax stands apart whatever it is for; a rule speaks of the rest.
        if let Some((_, _, bucket)) = rule
            && placed.bucket.is_work()
        {
            placed.bucket = *bucket;
        }
        let is_stopped = columns.format == Format::NativeJson
            && columns.of_role(Role::Quantity).is_some_and(|idx| bare(columns.name(idx)).contains("billed"))
            && view.number(Role::Quantity).is_some_and(ExactDecimal::is_zero)
            && billed.is_some_and(|billed| !billed.is_zero());
        if is_stopped {
            placed.bucket = Bucket::Storage;
            let column = columns.of_role(Role::Billed).map_or("", |idx| columns.name(idx));
            findings.add(F::BilledWhileStopped, record.line, column, text(Role::Billed));
        }
        let name = bucket::NAMES.into_iter().map(text).find(|name| !name.is_empty()).unwrap_or_default();
        if placed.bucket == Bucket::Unmapped {
            let column =
                bucket::NAMES.into_iter().find(|role| text(*role) == name).and_then(|role| columns.of_role(role));
            findings.add(F::NotMapped, record.line, column.map_or("", |idx| columns.name(idx)), name);
        }
        self.buckets.entry((currency, placed.bucket)).or_default().add(billed, effective);
        if text(Role::CommitmentStatus).eq_ignore_ascii_case("unused") {
            self.idle.entry(currency).or_default().add(billed, effective);
        }
        if columns.format.is_focus()
            && billed.is_some_and(ExactDecimal::is_zero)
            && effective.is_some_and(|effective| !effective.is_zero())
            && text(Role::Commitment).is_empty()
            && text(Role::CommitmentStatus).is_empty()
        {
            self.elsewhere.entry(currency).or_default().add(billed, effective);
        }
        let commitment = text(Role::Commitment);
        if !commitment.is_empty() && (self.commitments.contains_key(commitment) || self.commitments.len() < MAX_KEPT) {
            let entry = self
                .commitments
                .entry(commitment.to_owned())
                .or_insert_with(|| Commitment { first_line: record.line, ..Commitment::default() });
            let status = text(Role::CommitmentStatus);
            match view.charge {
                Charge::Purchase => entry.purchased.add(billed, effective),
                _ if status.eq_ignore_ascii_case("used") => entry.used.add(billed, effective),
                _ if status.eq_ignore_ascii_case("unused") => entry.unused.add(billed, effective),
                _ => {}
            }
        }
        if columns.of_role(Role::Invoice).is_some() {
            let key = (text(Role::Invoice).to_owned(), currency);
            if self.invoices.contains_key(&key) || self.invoices.len() < MAX_KEPT {
                self.invoices.entry(key).or_default().add(billed, effective);
            }
        }
        // The component: one for each thing that has its own price.
        let unit = match text(Role::Unit) {
            "" if columns.of_role(Role::Quantity).is_some_and(|idx| bare(columns.name(idx)) == "timebilledms") => "ms",
            unit => unit,
        };
        let price = view.number(Role::ContractedUnitPrice).or_else(|| view.number(Role::UnitPrice));
        let price = price.map(ExactDecimal::trimmed);
        let key = &mut self.component_key;
        key.clear();
        for part in [
            placed.bucket.name(),
            name,
            unit,
            price.as_deref().unwrap_or(""),
            self.currencies.get(currency).map_or("", String::as_str),
        ] {
            key.push_str(part);
            key.push('\0');
        }
        let mut name = name;
        if !self.components.contains_key(key) && self.components.len() >= MAX_COMPONENTS {
            key.clear();
            key.push_str(placed.bucket.name());
            name = "(other)";
        }
        let component = self.components.entry(key.clone()).or_insert_with(|| BillComponent {
            bucket: placed.bucket,
            name: name.to_owned(),
            unit: unit.to_owned(),
            unit_price: price.clone(),
            currency: self.currencies.get(currency).cloned().unwrap_or_default(),
            covers_host: placed.covers_host,
            rows: 0,
            quantity: ExactDecimal::ZERO,
            rows_without_quantity: 0,
            billed: None,
            effective: None,
            first_line: record.line,
            last_line: record.line,
        });
        component.rows += 1;
        component.last_line = record.line;
        match view.number(Role::Quantity) {
            Some(quantity) => component.quantity.add(quantity),
            None => component.rows_without_quantity += 1,
        }
        for (sum, amount) in [(&mut component.billed, billed), (&mut component.effective, effective)] {
            if let Some(amount) = amount {
                sum.get_or_insert_default().add(amount);
            }
        }
        if !self.options.targets.is_empty() {
            let row = Candidate {
                time: self.checks.row_time,
                resource: text(Role::Resource),
                tags: text(Role::Tags),
                billed,
                effective,
            };
            self.matching.row(&self.options.targets, &row, |name| {
                columns.find(name).or_else(|| columns.find(&format!("x_{name}"))).map(|idx| record.cell(idx))
            });
        }
        if columns.format == Format::Plain {
            let first = record.cells().find(|cell| !cell.trim().is_empty()).unwrap_or_default();
            let is_total = ["total", "sum", "grandtotal", "subtotal", "gesamt", "summe", "合计", "总计"]
                .contains(&bare(first).as_str());
            if is_total && billed.is_some_and(|billed| *billed == self.sum_so_far) {
                findings.add(F::TotalRow, record.line, "", &record.rest(0));
            }
            if let Some(billed) = billed {
                self.sum_so_far.add(billed);
            }
        }
    }

    /// The amount of the row that came last.
    pub(super) fn last_amount(&self) -> Option<&ExactDecimal> {
        match self.values.get(self.numbers.of_role.get(Role::Billed.idx()).copied().flatten()?)? {
            CellNumber::Plain(value) | CellNumber::Other(value, ..) => Some(value),
            _ => None,
        }
    }

    /// The column of amounts.
    pub(super) fn amount_column(&self) -> String {
        self.columns.of_role(Role::Billed).map_or("", |idx| self.columns.name(idx)).to_owned()
    }

    /// Counts an amount that no row holds: the rounding between a whole and its parts.
    pub(super) fn add_rounding(&mut self, line: u64, amount: &ExactDecimal) {
        let currency = self.currencies.len().saturating_sub(1);
        self.buckets.entry((currency, Bucket::Adjustment)).or_default().add(Some(amount), None);
        let component = self.components.entry("rounding".to_owned()).or_insert_with(|| BillComponent {
            bucket: Bucket::Adjustment,
            name: "rounding".to_owned(),
            unit: String::new(),
            unit_price: None,
            currency: self.currencies.get(currency).cloned().unwrap_or_default(),
            covers_host: false,
            rows: 0,
            quantity: ExactDecimal::ZERO,
            rows_without_quantity: 0,
            billed: None,
            effective: None,
            first_line: line,
            last_line: line,
        });
        component.last_line = line;
        component.billed.get_or_insert_default().add(amount);
    }

    /// Closes the table: what only the whole of it shows, then its totals.
    pub(super) fn done(mut self, findings: &mut Findings) -> Closed {
        if self.nulls.count > 0 {
            let nulls = std::mem::take(&mut self.nulls);
            let column = self.columns.name(nulls.column);
            findings.counted(F::NullWord, (nulls.line, nulls.count), column, &nulls.text, Vec::new());
        }
        self.checks.done(&self.columns, findings);
        self.currency_findings(findings);
        for (id, commitment) in &self.commitments {
            let mut spread = commitment.used.effective.clone();
            spread.add(&commitment.unused.effective);
            let (rows, spread_rows) = (commitment.purchased.rows, commitment.used.rows + commitment.unused.rows);
            if rows > 0 && spread_rows > 0 && commitment.purchased.billed != spread {
                let values =
                    vec![("purchased", commitment.purchased.billed.to_string()), ("spread", spread.to_string())];
                let column = self.columns.of_role(Role::Commitment).map_or("", |idx| self.columns.name(idx));
                findings.add_with(F::CommitmentUnequal, commitment.first_line, column, id, || values);
            }
        }
        let names: Vec<String> = self.columns.sums.iter().map(|idx| self.columns.name(*idx).to_owned()).collect();
        let known = self.currencies.iter().filter(|code| !code.is_empty()).count();
        let is_mixed = known > 1;
        let close = |parts: &Parts| group(parts, &self.currencies, names.len(), is_mixed);
        let all = close(&self.all);
        let by = self
            .groupings
            .iter()
            .map(|grouping| {
                let groups = grouping.groups.iter().map(|(key, parts)| (key.clone(), close(parts))).collect();
                (grouping.names.join("+"), groups)
            })
            .collect();
        for (idx, name) in names.iter().enumerate() {
            let without: u64 = all
                .by_currency
                .iter()
                .filter_map(|(_, totals)| totals.columns.get(idx))
                .map(ColumnTotal::without)
                .sum();
            let unreadable: u64 = all
                .by_currency
                .iter()
                .filter_map(|(_, totals)| totals.columns.get(idx))
                .map(|total| total.unreadable)
                .sum();
            if without > unreadable && without < self.rows {
                let line = self.first_nulls.get(idx).copied().unwrap_or(1);
                findings.counted(F::NoAmount, (line, without - unreadable), name, "", vec![("column", name.clone())]);
            }
        }
        let code = |currency: usize| self.currencies.get(currency).cloned().unwrap_or_default();
        let amounts = |map: &BTreeMap<usize, Amounts>| {
            map.iter().map(|(currency, amounts)| (code(*currency), amounts.clone())).collect()
        };
        Closed {
            idle: amounts(&self.idle),
            elsewhere: amounts(&self.elsewhere),
            buckets: self
                .buckets
                .iter()
                .map(|((currency, bucket), amounts)| BucketTotal {
                    bucket: *bucket,
                    currency: code(*currency),
                    amounts: amounts.clone(),
                })
                .collect(),
            invoices: self
                .invoices
                .iter()
                .map(|((id, currency), amounts)| (id.clone(), code(*currency), amounts.clone()))
                .collect(),
            table: Table {
                name: self.name,
                currency_column: self.columns.of_role(Role::Currency).map(|idx| self.columns.name(idx).to_owned()),
                currencies: self.currencies.clone(),
                rows: self.rows,
                columns: names,
                all,
                by,
            },
            components: self.components.into_values().collect(),
            commitments: self.commitments,
            matching: self.matching,
        }
    }

    fn currency_findings(&self, findings: &mut Findings) {
        let column = self.columns.of_role(Role::Currency).map_or("", |idx| self.columns.name(idx));
        let known: Vec<&str> = self.currencies.iter().map(String::as_str).filter(|code| !code.is_empty()).collect();
        for (code, (rows, line)) in self.currencies.iter().zip(&self.currency_lines) {
            if code.is_empty() && self.name.ends_with(DETAIL) {
                // Told of the rows that these are parts of.
            } else if code.is_empty() {
                findings.counted(F::CurrencyMissing, (*line, *rows), column, "", Vec::new());
            } else if iso_currency::Currency::from_code(code).is_none() {
                findings.counted(F::CurrencyUnknown, (*line, *rows), column, code, Vec::new());
            }
        }
        if known.len() > 1 {
            let line = self.currency_lines.get(1).map_or(1, |(_, line)| *line);
            let values = vec![("currencies", known.join(", "))];
            findings.counted(F::MixedCurrencies, (line, self.rows), column, &known.join(", "), values);
        }
    }
}

/// What a person said, as far as this table can have it: in JSON each table has its own columns.
fn said(options: &Options, is_json: bool, names: &[String]) -> (Vec<(Role, String)>, Vec<String>) {
    let has = |wanted: &str| !is_json || names.iter().any(|name| name == wanted || bare(name) == bare(wanted));
    (
        options.map.iter().filter(|(_, name)| has(name)).cloned().collect(),
        options.sum.iter().filter(|name| has(name)).cloned().collect(),
    )
}

/// A group with its sums closed. Currencies are apart where there are several; rows that name none go with a single one.
fn group(parts: &Parts, currencies: &[String], n_columns: usize, is_mixed: bool) -> Group {
    let totals = |parts: &mut dyn Iterator<Item = &Part>| {
        let mut totals = Totals { rows: 0, columns: vec![ColumnTotal::default(); n_columns] };
        for part in parts {
            totals.rows += part.rows;
            for (idx, total) in totals.columns.iter_mut().enumerate() {
                let running = part.sums.get(idx).cloned().unwrap_or_default();
                total.sum.add(&running.sum);
                total.unreadable += running.unreadable;
                total.nulls += part.rows - running.values - running.unreadable;
                total.values += running.values;
            }
        }
        totals
    };
    let code = |part: &Part| currencies.get(part.currency).cloned().unwrap_or_default();
    let total = (!is_mixed || parts.0.len() < 2).then(|| totals(&mut parts.0.iter()));
    let by_currency = parts.0.iter().map(|part| (code(part), totals(&mut std::iter::once(part)))).collect();
    Group { rows: parts.0.iter().map(|part| part.rows).sum(), total, by_currency }
}

/// A closed table with what was gathered beside its totals.
pub(super) struct Closed {
    pub(super) table: Table,
    pub(super) components: Vec<BillComponent>,
    pub(super) buckets: Vec<BucketTotal>,
    pub(super) idle: Vec<(String, Amounts)>,
    pub(super) elsewhere: Vec<(String, Amounts)>,
    pub(super) commitments: BTreeMap<String, Commitment>,
    pub(super) invoices: Vec<(String, String, Amounts)>,
    pub(super) matching: Matching,
}
