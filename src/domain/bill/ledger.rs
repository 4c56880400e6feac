//! The running totals of one table of a bill.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher, Hash as _, Hasher as _};

use super::bucket::Charge;
use super::cell::{self, CellNumber, DecimalMark, Way, is_null};
use super::checks::{Checks, View};
use super::decimal::ExactDecimal;
use super::finding::{FindingKind as F, Findings};
use super::format::{Columns, Role, Said, bare};
use super::gather::{Gathered, Gathering, RowCurrency};
use super::native::DETAIL;
use super::refusal::Refusal;
use super::rows::Record;
use super::{ColumnTotal, Group, Options, Table, Totals};

/// The key of a cell without a value in a grouping.
const NULL: &str = "(null)";
/// Values kept apart in all groupings together.
const MAX_GROUPS: usize = 100_000;
/// Spellings kept apart in a column.
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
    gathered: Gathered<'o>,
    checks: Checks,
    nulls: NullWords,
    /// The first line without a value, for each summed column.
    first_nulls: Vec<u64>,
    spellings: Vec<Spellings>,
    seen: HashMap<u64, u32, BuildHasherDefault<DefaultHasher>>,
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
            gathered: Gathered::new(options),
            checks,
            nulls: NullWords::default(),
            first_nulls: Vec::new(),
            spellings: Vec::new(),
            seen: HashMap::default(),
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
        self.gathered.find_columns(columns);
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
        if !self.is_whole_of_parts {
            let code = self.currencies.get(currency).map_or("", String::as_str);
            self.gathered.row(&view, RowCurrency { at: currency, code }, self.checks.row_time, findings);
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
        let at = self.currencies.len().saturating_sub(1);
        let code = self.currencies.get(at).map_or("", String::as_str);
        self.gathered.add_rounding(line, RowCurrency { at, code }, amount);
    }

    /// Closes the table: what only the whole of it shows, then its totals.
    pub(super) fn done(mut self, findings: &mut Findings) -> (Table, Gathering) {
        // What was only needed for the rows makes room for the closed totals.
        self.seen = HashMap::default();
        self.spellings = Vec::new();
        let groupings = std::mem::take(&mut self.groupings);
        if self.nulls.count > 0 {
            let nulls = std::mem::take(&mut self.nulls);
            let column = self.columns.name(nulls.column);
            findings.counted(F::NullWord, (nulls.line, nulls.count), column, &nulls.text, Vec::new());
        }
        self.checks.done(&self.columns, findings);
        self.currency_findings(findings);
        let known = self.currencies.iter().filter(|code| !code.is_empty()).count();
        let is_mixed = known > 1;
        // A column without any value is no total, unless it is one that a bill of this format is read by, or was asked for.
        let has_values =
            |at: &usize| self.all.0.iter().any(|part| part.sums.get(*at).is_some_and(|running| running.values > 0));
        let is_wanted = |idx: usize| {
            let is_role = Role::ALL.iter().any(|(role, _)| role.is_cost() && self.columns.of_role(*role) == Some(idx));
            is_role || self.options.sum.iter().any(|name| self.columns.find(name) == Some(idx))
        };
        let sums = &self.columns.sums;
        let (kept, dropped): (Vec<usize>, Vec<usize>) =
            (0..sums.len()).partition(|at| has_values(at) || sums.get(*at).is_some_and(|idx| is_wanted(*idx)));
        let name = |at: &usize| sums.get(*at).map_or("", |idx| self.columns.name(*idx)).to_owned();
        let names: Vec<String> = kept.iter().map(name).collect();
        let empty_columns: Vec<String> = dropped.iter().map(name).collect();
        let amount = self
            .columns
            .of_role(Role::Billed)
            .and_then(|billed| kept.iter().position(|at| sums.get(*at) == Some(&billed)));
        let close = |parts: &Parts| group(parts, &self.currencies, &kept, is_mixed);
        let all = close(&self.all);
        let by = groupings
            .into_iter()
            .map(|grouping| {
                let groups = grouping.groups.into_iter().map(|(key, parts)| (key, close(&parts))).collect();
                (grouping.names.join("+"), groups)
            })
            .collect();
        for ((n, at), name) in kept.iter().enumerate().zip(&names) {
            let nulls: u64 =
                all.by_currency.iter().filter_map(|(_, totals)| totals.columns.get(n)).map(|total| total.nulls).sum();
            if nulls > 0 {
                let line = self.first_nulls.get(*at).copied().unwrap_or(1);
                findings.counted(F::NoAmount, (line, nulls), name, "", vec![("column", name.clone())]);
            }
        }
        let table = Table {
            name: self.name,
            currency_column: self.columns.of_role(Role::Currency).map(|idx| self.columns.name(idx).to_owned()),
            currencies: self.currencies.clone(),
            rows: self.rows,
            columns: names,
            amount,
            empty_columns,
            all,
            by,
        };
        let column = self.columns.of_role(Role::Commitment).map_or("", |idx| self.columns.name(idx));
        (table, self.gathered.done(&self.currencies, column, findings))
    }

    fn currency_findings(&self, findings: &mut Findings) {
        let column = self.columns.of_role(Role::Currency).map_or("", |idx| self.columns.name(idx));
        let known: Vec<&str> = self.currencies.iter().map(String::as_str).filter(|code| !code.is_empty()).collect();
        for (code, (rows, line)) in self.currencies.iter().zip(&self.currency_lines) {
            if code.is_empty() && self.name.ends_with(DETAIL) {
                // Told of the rows that these are parts of.
            } else if code.is_empty() {
                let as_currency = if known.len() == 1 { known.join("") } else { "–".to_owned() };
                findings.counted(F::CurrencyMissing, (*line, *rows), column, "", vec![("currency", as_currency)]);
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
fn group(parts: &Parts, currencies: &[String], kept: &[usize], is_mixed: bool) -> Group {
    let totals = |parts: &mut dyn Iterator<Item = &Part>| {
        let mut totals = Totals { rows: 0, columns: vec![ColumnTotal::default(); kept.len()] };
        for part in parts {
            totals.rows += part.rows;
            for (at, total) in kept.iter().zip(&mut totals.columns) {
                let running = part.sums.get(*at).cloned().unwrap_or_default();
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
