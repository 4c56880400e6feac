//! Bills: totals of any grouping, exact to the last digit, and everything in the file that is not as it should be.
//!
//! A bill is read as it comes, row after row, so that its size does not matter. The format is told by what is in the
//! file, never by its name. Every cell is taken as text; what is a number becomes an exact decimal; nothing is repaired
//! silently: each deviation is a [`Finding`] with line, column, text and what it does to the totals.
//!
//! ```text
//! source   bytes to text: encoding, what is no text, the first part
//! rows     CSV rows;  json  JSON records
//! format   which format, what each column means
//! cell     what the text of a cell means as a number;  moment  as a time;  decimal  exact decimals
//! ledger   the running totals of a table;  checks  what rows say against each other;  gather  what rows amount to
//! bucket   what a row pays for;  matching  which run it belongs to;  reconcile  plan against bill
//! ```

use std::collections::BTreeMap;
use std::io::BufRead;

mod bucket;
mod cell;
mod checks;
mod decimal;
mod finding;
mod format;
mod gather;
mod json;
mod ledger;
mod matching;
mod moment;
mod native;
mod reconcile;
mod refusal;
mod rows;
mod source;

pub use bucket::{Bucket, Rule};
pub use cell::DecimalMark;
pub use decimal::ExactDecimal;
pub use finding::{Finding, FindingKind};
pub use format::{Format, Role};
pub use matching::{Amounts, Matched, Matching, Target};
pub use reconcile::{Basis, Compared, PlannedAmount, Reconciled, reconcile, reconcile_amounts};
pub use refusal::{Binary, JsonFault, Refusal};

use finding::Findings;
use gather::Gathering;
use ledger::Ledger;

/// A table with what was gathered beside its totals.
type Closed = (Table, Gathering);
use rows::{Record, Rows};

/// How a bill is to be read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Groupings: each a list of columns whose values together are the key.
    pub by: Vec<Vec<String>>,
    /// Columns to add up beside the amounts.
    pub sum: Vec<String>,
    /// What columns mean, where the format does not say it.
    pub map: Vec<(Role, String)>,
    /// The currency of rows that name none.
    pub currency: Option<String>,
    /// Rules for what rows pay for.
    pub rules: Vec<Rule>,
    /// Components and runs to find rows for.
    pub targets: Vec<Target>,
    /// Seconds by which a row may lie outside a target and still be of it.
    pub tolerance_secs: i64,
    /// The decimal mark, where a person says it; else the file decides.
    pub mark: Option<DecimalMark>,
}

/// A bill that was read.
#[derive(Debug, Clone)]
pub struct Bill {
    /// Its format.
    pub format: Format,
    /// Its tables: one for CSV; JSON may hold several.
    pub tables: Vec<Table>,
    /// What deviates.
    pub findings: Vec<Finding>,
    /// The components that the rows amount to.
    pub components: Vec<BillComponent>,
    /// Amounts by what they pay for, each currency apart.
    pub buckets: Vec<BucketTotal>,
    /// Unused parts of commitments, by currency: a view on amounts that are counted already, never to be added.
    pub idle: Vec<(String, Amounts)>,
    /// Rows that another issuer invoices, by currency: their effective cost is of the work, not of this invoice.
    pub elsewhere: Vec<(String, Amounts)>,
    /// Commitments by their id.
    pub commitments: BTreeMap<String, Commitment>,
    /// Invoice, currency, amounts.
    pub invoices: Vec<(String, String, Amounts)>,
    /// Rows by target.
    pub matching: Matching,
}

impl Bill {
    /// Whether something of the file is in no total.
    #[must_use]
    pub fn leaves_out(&self) -> bool {
        self.findings.iter().any(|finding| finding.kind.leaves_out())
    }

    /// What a bucket amounts to in a currency.
    #[must_use]
    pub fn bucket(&self, bucket: Bucket, currency: &str) -> Option<&Amounts> {
        self.buckets
            .iter()
            .find(|total| total.bucket == bucket && total.currency == currency)
            .map(|total| &total.amounts)
    }

    /// The currencies in which something is billed; the empty one where rows name none.
    #[must_use]
    pub fn currencies(&self) -> Vec<&str> {
        let mut currencies: Vec<&str> = self.buckets.iter().map(|total| total.currency.as_str()).collect();
        currencies.sort_unstable();
        currencies.dedup();
        currencies
    }
}

/// The totals of one table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name; empty for the only table of a CSV file. "charges item" is a table of parts of "charges".
    pub name: String,
    /// How many rows it has.
    pub rows: u64,
    /// The column of currencies.
    pub currency_column: Option<String>,
    /// The currencies in it; the empty one where rows name none.
    pub currencies: Vec<String>,
    /// The columns that were added up.
    pub columns: Vec<String>,
    /// Which of them holds the amounts that are billed.
    pub amount: Option<usize>,
    /// Columns of amounts without a value in any row.
    pub empty_columns: Vec<String>,
    /// All rows.
    pub all: Group,
    /// Each grouping by its label ("ChargeCategory+PricingCategory"), its groups by their key ("Usage|Standard").
    pub by: Vec<(String, BTreeMap<String, Group>)>,
}

impl Table {
    /// The table whose rows these are parts of; its last grouping is then by the type of the parts.
    #[must_use]
    pub fn detail_of(&self) -> Option<&str> {
        self.name.strip_suffix(native::DETAIL)
    }

    /// A column's position.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|other| other == name)
    }
}

/// Rows with one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// How many rows.
    pub rows: u64,
    /// Their sums, in the order of the table's columns; `None` for rows of two currencies, which have no sum.
    pub total: Option<Totals>,
    /// The same by currency.
    pub by_currency: Vec<(String, Totals)>,
}

/// Sums of rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// How many rows.
    pub rows: u64,
    /// One sum a column.
    pub columns: Vec<ColumnTotal>,
}

/// The sum of a column over some rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnTotal {
    /// The exact sum of the values there are.
    pub sum: ExactDecimal,
    /// Rows with a value.
    pub values: u64,
    /// Rows without one.
    pub nulls: u64,
    /// Rows whose cell is no number, or could be two.
    pub unreadable: u64,
}

impl ColumnTotal {
    /// Rows that are not in the sum.
    #[must_use]
    pub const fn without(&self) -> u64 {
        self.nulls + self.unreadable
    }
}

/// Amounts for one thing, in one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketTotal {
    /// What they pay for.
    pub bucket: Bucket,
    /// The currency; empty where the rows name none.
    pub currency: String,
    /// The amounts.
    pub amounts: Amounts,
}

/// A thing with a price of its own, as the rows of a bill amount to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillComponent {
    /// What it is for.
    pub bucket: Bucket,
    /// What the bill calls it.
    pub name: String,
    /// The unit of its quantity; empty where the bill names none.
    pub unit: String,
    /// The price of a unit; the agreed one where there are two.
    pub unit_price: Option<String>,
    /// The currency; empty where the rows name none.
    pub currency: String,
    /// Whether host and local disk are inside its price.
    pub covers_host: bool,
    /// How many rows.
    pub rows: u64,
    /// Their quantity, as far as they have one; `None` where no row says it.
    pub quantity: Option<ExactDecimal>,
    /// Rows without a quantity.
    pub rows_without_quantity: u64,
    /// What is invoiced; `None` where no row says it.
    pub billed: Option<ExactDecimal>,
    /// What the work cost, commitments spread; `None` where no row says it.
    pub effective: Option<ExactDecimal>,
    /// The first line of the file that belongs to it.
    pub first_line: u64,
    /// The last one.
    pub last_line: u64,
}

impl BillComponent {
    /// One without rows.
    fn new(bucket: Bucket, name: &str, currency: &str, line: u64) -> Self {
        Self {
            bucket,
            name: name.to_owned(),
            unit: String::new(),
            unit_price: None,
            currency: currency.to_owned(),
            covers_host: false,
            rows: 0,
            quantity: None,
            rows_without_quantity: 0,
            billed: None,
            effective: None,
            first_line: line,
            last_line: line,
        }
    }
}

/// What was bought ahead, and how it was used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commitment {
    /// Purchases.
    pub purchased: Amounts,
    /// Use that it covers.
    pub used: Amounts,
    /// What was paid and not used.
    pub unused: Amounts,
    /// The first line of the file that names it.
    pub first_line: u64,
}

/// Reads a bill.
///
/// # Errors
/// `Refusal` where the file is no bill, or a column that was asked for is not in it.
pub fn read(bytes: impl BufRead, options: &Options) -> Result<Bill, Refusal> {
    let source = source::open(bytes)?;
    let mut findings = Findings::default();
    if source.is_utf16 {
        findings.add(FindingKind::Utf16, 1, "", "");
    } else if source.has_mark {
        findings.add(FindingKind::ByteOrderMark, 1, "", "");
    }
    let first = source.head.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_json = matches!(first, Some(b'{' | b'['));
    let (format, closed) = if is_json {
        native::read(source.text, &source.head, options, &mut findings)?
    } else {
        read_csv(source, options, &mut findings)?
    };
    Ok(bill(format, closed, findings))
}

fn bill(format: Format, closed: Vec<Closed>, findings: Findings) -> Bill {
    let mut bill = Bill {
        format,
        tables: Vec::new(),
        findings: findings.done(),
        components: Vec::new(),
        buckets: Vec::new(),
        idle: Vec::new(),
        elsewhere: Vec::new(),
        commitments: BTreeMap::new(),
        invoices: Vec::new(),
        matching: Matching::default(),
    };
    for (n, (table, gathered)) in closed.into_iter().enumerate() {
        bill.tables.push(table);
        bill.components.extend(gathered.components);
        for total in gathered.buckets {
            match bill.buckets.iter_mut().find(|other| other.bucket == total.bucket && other.currency == total.currency)
            {
                Some(other) => other.amounts.merge(&total.amounts),
                None => bill.buckets.push(total),
            }
        }
        bill.idle.extend(gathered.idle);
        bill.elsewhere.extend(gathered.elsewhere);
        bill.commitments.extend(gathered.commitments);
        bill.invoices.extend(gathered.invoices);
        if n == 0 {
            bill.matching = gathered.matching;
        } else {
            bill.matching.merge(&gathered.matching);
        }
    }
    bill.components.sort_by(|a, b| (a.bucket, &a.name, a.first_line).cmp(&(b.bucket, &b.name, b.first_line)));
    bill.buckets.sort_by(|a, b| (&a.currency, a.bucket).cmp(&(&b.currency, b.bucket)));
    bill
}

fn read_csv(
    source: source::Source<'_>,
    options: &Options,
    findings: &mut Findings,
) -> Result<(Format, Vec<Closed>), Refusal> {
    // "sep=;" on the first line is how spreadsheets name the mark between cells.
    let named = source.head.strip_prefix(b"sep=").and_then(|rest| rest.first()).copied();
    let delimiter = named.unwrap_or_else(|| format::delimiter(&source.head));
    let head = head_rows(&source.head, delimiter, named.is_some())?;
    let mut rows = Rows::new(source.text, delimiter);
    let mut record = Record::default();
    if named.is_some() {
        rows.read(&mut record)?;
    }
    if !rows.read(&mut record)? {
        return Err(Refusal::Empty);
    }
    let names = header(&record);
    let mut ledger = Ledger::new(String::new(), names, false, DecimalMark::Point, options)?;
    if ledger.columns.format == Format::Plain && options.map.is_empty() && has_values(&record) {
        return Err(Refusal::NoHeader(record.rest(0)));
    }
    if ledger.columns.sums.is_empty() {
        return Err(Refusal::NoAmounts(ledger.columns.names.clone()));
    }
    for grouping in 0..options.by.len() {
        if let Some(name) = ledger.lacks(grouping) {
            return Err(Refusal::ColumnUnknown(name.to_owned(), ledger.columns.names.clone()));
        }
    }
    ledger.set_mark(options.mark.unwrap_or_else(|| mark_of(&head, &ledger, delimiter)));
    checks::Checks::header(&ledger.columns, record.line, findings);
    let header_line = record.line;
    let mut n_rows = 0_u64;
    while rows.read(&mut record)? {
        n_rows += 1;
        ledger.row(&record, findings);
    }
    if let Some((n, line)) = rows.blank {
        findings.counted(FindingKind::BlankLines, (line, n), "", "", Vec::new());
    }
    if n_rows == 0 {
        findings.add(FindingKind::NoRows, header_line, "", "");
    }
    Ok((ledger.columns.format, vec![ledger.done(findings)]))
}

/// The names of the columns. One without a name is called by its place.
fn header(record: &Record) -> Vec<String> {
    record
        .cells()
        .enumerate()
        .map(|(idx, name)| match name.trim() {
            "" => format!("(column {})", idx + 1),
            name => name.to_owned(),
        })
        .collect()
}

/// Whether cells of a header are values: then the file has none.
fn has_values(record: &Record) -> bool {
    record.cells().any(|cell| {
        let cell = cell.trim();
        ExactDecimal::read(cell).is_some()
            || matches!(cell::read(cell, DecimalMark::Point), cell::CellNumber::Other(..))
            || (cell.len() >= 6 && moment::read(cell).is_ok())
    })
}

/// The rows of the first part of a file, without its last one, which may be cut.
fn head_rows(head: &[u8], delimiter: u8, has_mark: bool) -> Result<Vec<Vec<String>>, Refusal> {
    let mut rows = Rows::new(head, delimiter);
    let mut record = Record::default();
    let mut out = Vec::new();
    if has_mark {
        rows.read(&mut record)?;
    }
    while out.len() < 500 && rows.read(&mut record)? {
        out.push(record.cells().map(str::to_owned).collect());
    }
    Ok(out)
}

/// The decimal mark that the numbers of the first rows speak for.
fn mark_of(head: &[Vec<String>], ledger: &Ledger<'_>, delimiter: u8) -> DecimalMark {
    let (mut points, mut commas, mut has_commas) = (0_u32, 0_u32, false);
    for row in head.iter().skip(1) {
        for text in ledger.number_columns().iter().filter_map(|idx| row.get(*idx)) {
            has_commas |= text.contains(',');
            match cell::speaks_for(text) {
                Some(DecimalMark::Comma) => commas += 1,
                Some(_) => points += 1,
                None => {}
            }
        }
    }
    match (points, commas) {
        // Cells are parted by semicolons where the comma is taken.
        (0, 0) if delimiter == b';' && has_commas => DecimalMark::Comma,
        (_, 0) => DecimalMark::Point,
        (0, _) => DecimalMark::Comma,
        _ => DecimalMark::Both,
    }
}
