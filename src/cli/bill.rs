//! `leasebench import-bill FILE`: totals of a bill, exact, with everything in it that is not as it should be.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::domain::bill::{
    self, Bill, BillComponent, Bucket, DecimalMark, Finding, Group, Options, Refusal, Role, Rule, Table, Totals,
};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::text::{Text, fill};

use super::out;

/// What is read at once.
const BUFFER: usize = 64 << 10;

/// Which bill, and how it is grouped.
#[derive(Debug, Args)]
pub(super) struct BillArgs {
    /// Bill: FOCUS, AWS CUR, Azure, OCI or other CSV, or JSON; - for standard input.
    file: PathBuf,
    /// Column, or columns joined by +, to group by.
    #[arg(long, value_name = "COLUMN[+COLUMN]")]
    by: Vec<String>,
    /// Further column to add up.
    #[arg(long, value_name = "COLUMN")]
    sum: Vec<String>,
    /// What a column means (billed, effective, list, currency, start, end, quantity, unit, unit_price, meter, resource, …).
    #[arg(long, value_name = "MEANING=COLUMN")]
    map: Vec<String>,
    /// What rows with a value pay for (accelerator, host, storage, network, support_licence, setup).
    #[arg(long, value_name = "COLUMN=VALUE:CATEGORY")]
    rule: Vec<String>,
    /// Currency of rows that name none.
    #[arg(long, value_name = "CODE")]
    currency: Option<String>,
    /// Decimal mark, where the file does not show it.
    #[arg(long, value_name = "MARK", value_parser = PossibleValuesParser::new(["point", "comma"]))]
    decimal: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What scripts read.
#[derive(Serialize)]
struct Shape {
    format: &'static str,
    /// "all" and each "by …", then what JSON bills have beside them.
    totals: Map<String, Value>,
    /// Rows that are in no sum of a column, where there are any.
    rows_without: BTreeMap<String, u64>,
    findings: Vec<FindingShape>,
    components: Vec<ComponentShape>,
    /// Amounts by category: [{"category", "currency", "rows", "billed", "effective"}].
    categories: Vec<Value>,
    /// Views on amounts that are counted already.
    views: Value,
}

#[derive(Serialize)]
struct FindingShape {
    line: u64,
    column: String,
    text: String,
    effect: String,
    kind: String,
    count: u64,
    last_line: u64,
}

#[derive(Serialize)]
struct ComponentShape {
    category: &'static str,
    name: String,
    quantity: Option<String>,
    unit: String,
    unit_price: Option<String>,
    currency: String,
    billed: Option<String>,
    effective: Option<String>,
    covers: Vec<&'static str>,
    rows: u64,
    rows_without_quantity: u64,
    first_line: u64,
    last_line: u64,
}

/// Exit status 0 when all of the bill is in its totals, 1 when a part of it is in none.
pub(super) fn run(args: &BillArgs, text: &Text) -> Result<ExitCode, Failure> {
    let options = options(args)?;
    let refused = |refusal| failure(refusal, &args.file);
    let bill = if args.file == Path::new("-") {
        bill::read(io::stdin().lock(), &options).map_err(refused)?
    } else {
        let unreadable =
            |error: io::Error| Failure::new(FailureKind::FileUnreadable).because(error).at(args.file.display());
        let file = File::open(&args.file).map_err(unreadable)?;
        bill::read(BufReader::with_capacity(BUFFER, file), &options).map_err(refused)?
    };
    if args.json {
        out::json(&shape(&bill, text))?;
    } else {
        print(&bill, text);
    }
    Ok(ExitCode::from(u8::from(bill.leaves_out())))
}

/// The options that the arguments mean.
fn options(args: &BillArgs) -> Result<Options, Failure> {
    let refused =
        |text: &str, form: String| Failure::new(FailureKind::BillOptionRefused).with("text", text).with("form", form);
    let mut options = Options { sum: args.sum.clone(), currency: args.currency.clone(), ..Options::default() };
    options.by = args.by.iter().map(|by| by.split('+').map(str::to_owned).collect()).collect();
    options.mark =
        args.decimal.as_deref().map(|mark| if mark == "comma" { DecimalMark::Comma } else { DecimalMark::Point });
    for text in &args.map {
        let pair = text.split_once('=').and_then(|(name, column)| Some((Role::named(name)?, column.to_owned())));
        let names = || Role::ALL.map(|(_, name)| name).join("|");
        options.map.push(pair.ok_or_else(|| refused(text, format!("{}=COLUMN", names())))?);
    }
    for text in &args.rule {
        let rule = text.split_once('=').and_then(|(column, rest)| {
            let (value, bucket) = rest.rsplit_once(':')?;
            Some(Rule { column: column.to_owned(), value: value.to_owned(), bucket: Bucket::named(bucket)? })
        });
        let names = || Bucket::ALL.map(Bucket::name).join("|");
        options.rules.push(rule.ok_or_else(|| refused(text, format!("COLUMN=VALUE:{}", names())))?);
    }
    Ok(options)
}

/// Why a bill is not read, as a failure.
fn failure(refusal: Refusal, file: &Path) -> Failure {
    let known = |names: &[String]| names.iter().take(100).map(|name| out::visible(name)).collect::<Vec<_>>().join(", ");
    let failure = match refusal {
        Refusal::Empty => Failure::new(FailureKind::BillEmpty),
        Refusal::Binary(binary) => Failure::new(FailureKind::BillBinary).with("what", binary.key()),
        Refusal::NoHeader(text) => {
            let text: String = out::visible(&text).chars().take(200).collect();
            Failure::new(FailureKind::BillNoHeader).with("text", text)
        }
        Refusal::RowTooLong(line) => Failure::new(FailureKind::BillRowTooLong).with("line", line),
        Refusal::TooManyColumns(n) => Failure::new(FailureKind::BillTooManyColumns).with("n", n),
        Refusal::Json(line, fault) => Failure::new(FailureKind::BillJson).with("line", line).with("what", fault.key()),
        Refusal::ColumnUnknown(name, names) => {
            Failure::new(FailureKind::BillColumnUnknown).with("name", name).with("known", known(&names))
        }
        Refusal::NoAmounts(names) => Failure::new(FailureKind::BillNoAmounts).with("known", known(&names)),
        Refusal::Reading(cause) => Failure::new(FailureKind::FileUnreadable).because(cause),
    };
    failure.at(file.display())
}

/// The tables whose rows are the rows of the bill, each with what its columns are called in the totals.
fn main_tables(bill: &Bill) -> Vec<(&Table, String)> {
    let tables: Vec<&Table> = bill.tables.iter().filter(|table| table.detail_of().is_none()).collect();
    let alone = tables.len() < 2;
    tables.into_iter().map(|table| (table, if alone { String::new() } else { format!("{} ", table.name) })).collect()
}

fn shape(bill: &Bill, text: &Text) -> Shape {
    let mut rows_without = BTreeMap::new();
    for (table, prefix) in main_tables(bill) {
        for (idx, name) in table.columns.iter().enumerate() {
            let totals = table.all.by_currency.iter().filter_map(|(_, totals)| totals.columns.get(idx));
            let without: u64 = totals.map(bill::ColumnTotal::without).sum();
            if without > 0 {
                rows_without.insert(format!("{prefix}{name}"), without);
            }
        }
        rows_without.extend(table.empty_columns.iter().map(|name| (format!("{prefix}{name}"), table.rows)));
    }
    Shape {
        format: bill.format.name(),
        totals: totals(bill),
        rows_without,
        findings: bill.findings.iter().map(|finding| finding_shape(finding, text)).collect(),
        components: bill.components.iter().map(component_shape).collect(),
        categories: bill
            .buckets
            .iter()
            .map(|total| {
                json!({
                    "category": total.bucket.name(),
                    "currency": total.currency,
                    "rows": total.amounts.rows,
                    "billed": total.amounts.billed.to_string(),
                    "effective": total.amounts.effective.to_string(),
                })
            })
            .collect(),
        views: views(bill),
    }
}

/// Each grouping with its groups; what the tables of a JSON bill amount to under their names.
fn totals(bill: &Bill) -> Map<String, Value> {
    let mut out = Map::new();
    let tables = main_tables(bill);
    let groups = |pick: &dyn Fn(&Table) -> Option<&Group>| {
        let mut all = Map::new();
        let mut rows = 0;
        for (table, prefix) in &tables {
            if let Some(group) = pick(table) {
                rows += group.rows;
                put_group(&mut all, table, prefix, group);
            }
        }
        all.insert("rows".to_owned(), rows.into());
        Value::Object(all)
    };
    out.insert("all".to_owned(), groups(&|table| Some(&table.all)));
    for (n, label) in tables.iter().flat_map(|(table, _)| table.by.iter().enumerate()).map(|(n, (label, _))| (n, label))
    {
        let at = |table: &Table, key: &str| table.by.get(n).is_some_and(|(_, groups)| groups.contains_key(key));
        let keys: std::collections::BTreeSet<&String> =
            tables.iter().filter_map(|(table, _)| table.by.get(n)).flat_map(|(_, groups)| groups.keys()).collect();
        let by: Map<String, Value> = keys
            .into_iter()
            .filter(|key| tables.iter().any(|(table, _)| at(table, key)))
            .map(|key| (key.clone(), groups(&|table| table.by.get(n).and_then(|(_, groups)| groups.get(key)))))
            .collect();
        out.insert(format!("by {label}"), Value::Object(by));
    }
    // Two currencies have no sum, so the totals of each are always told.
    for (table, prefix) in &tables {
        if table.all.total.is_none()
            && let Some(column) = &table.currency_column
        {
            let by: Map<String, Value> = table
                .all
                .by_currency
                .iter()
                .map(|(code, totals)| {
                    let code = if code.is_empty() { "(null)" } else { code };
                    (code.to_owned(), of_currency(table, prefix, totals))
                })
                .collect();
            out.entry(format!("by {column}")).or_insert(Value::Object(by));
        }
    }
    native(bill, &mut out);
    out
}

/// What the records of a JSON bill amount to: "charges amount", "charges by item type", "difference contract minus items".
fn native(bill: &Bill, out: &mut Map<String, Value>) {
    for table in bill.tables.iter().filter(|table| !table.name.is_empty()) {
        let Some(totals) = &table.all.total else { continue };
        let Some(whole) = table.detail_of() else {
            for (n, (name, total)) in table.columns.iter().zip(&totals.columns).enumerate() {
                // A count, as of milliseconds, is a number; an amount never is.
                let count = (table.amount != Some(n)).then(|| total.sum.to_string().parse::<i64>().ok()).flatten();
                let sum = count.map_or_else(|| Value::from(total.sum.to_string()), Value::from);
                out.insert(format!("{} {name}", table.name), sum);
            }
            continue;
        };
        let sum_of = |table: &Table, totals: &Totals| {
            table.amount.and_then(|at| totals.columns.get(at)).map(|total| total.sum.clone()).unwrap_or_default()
        };
        if let Some((label, groups)) = table.by.last() {
            let by: Map<String, Value> = groups
                .iter()
                .filter_map(|(key, group)| Some((key.clone(), sum_of(table, group.total.as_ref()?).to_string().into())))
                .collect();
            out.insert(format!("{whole} by item {label}"), Value::Object(by));
        }
        let wholes = bill.tables.iter().find(|other| other.name == whole);
        if let Some((wholes, amounts)) = wholes.and_then(|table| Some((table, table.all.total.as_ref()?))) {
            let difference = sum_of(wholes, amounts).minus(&sum_of(table, totals));
            out.insert("difference contract minus items".to_owned(), difference.to_string().into());
        }
    }
}

fn put_group(out: &mut Map<String, Value>, table: &Table, prefix: &str, group: &Group) {
    match &group.total {
        Some(totals) => put_totals(out, table, prefix, totals),
        None => {
            for name in &table.columns {
                out.insert(format!("{prefix}{name}"), Value::Null);
            }
            let by: Map<String, Value> = group
                .by_currency
                .iter()
                .map(|(code, totals)| (code.clone(), of_currency(table, prefix, totals)))
                .collect();
            out.insert(format!("{prefix}by_currency"), Value::Object(by));
        }
    }
}

/// What the rows of one currency come to.
fn of_currency(table: &Table, prefix: &str, totals: &Totals) -> Value {
    let mut one = Map::new();
    put_totals(&mut one, table, prefix, totals);
    one.insert("rows".to_owned(), totals.rows.into());
    Value::Object(one)
}

/// Sums of the columns; counts of rows without a value where there are any.
fn put_totals(out: &mut Map<String, Value>, table: &Table, prefix: &str, totals: &Totals) {
    for (name, total) in table.columns.iter().zip(&totals.columns) {
        out.insert(format!("{prefix}{name}"), total.sum.to_string().into());
        if total.nulls > 0 {
            out.insert(format!("{prefix}{name}_null_rows"), total.nulls.into());
        }
        if total.unreadable > 0 {
            out.insert(format!("{prefix}{name}_unreadable_rows"), total.unreadable.into());
        }
    }
}

fn effect(finding: &Finding, text: &Text) -> String {
    text.bill_findings.get(&finding.kind).map_or_else(String::new, |words| fill(words, &finding.values))
}

fn finding_shape(finding: &Finding, text: &Text) -> FindingShape {
    FindingShape {
        line: finding.line,
        column: finding.column.clone(),
        text: finding.text.clone(),
        effect: effect(finding, text),
        kind: finding.kind.name(),
        count: finding.count,
        last_line: finding.last_line,
    }
}

fn component_shape(component: &BillComponent) -> ComponentShape {
    ComponentShape {
        category: component.bucket.name(),
        name: component.name.clone(),
        quantity: component.quantity.as_ref().map(ToString::to_string),
        unit: component.unit.clone(),
        unit_price: component.unit_price.clone(),
        currency: component.currency.clone(),
        billed: component.billed.as_ref().map(ToString::to_string),
        effective: component.effective.as_ref().map(ToString::to_string),
        covers: if component.covers_host { vec!["host", "local_disk"] } else { Vec::new() },
        rows: component.rows,
        rows_without_quantity: component.rows_without_quantity,
        first_line: component.first_line,
        last_line: component.last_line,
    }
}

/// Views on amounts that are counted already: never to be added to them.
fn views(bill: &Bill) -> Value {
    let amounts = |list: &[(String, bill::Amounts)]| {
        list.iter()
            .map(|(currency, amounts)| {
                json!({
                    "currency": currency,
                    "rows": amounts.rows,
                    "billed": amounts.billed.to_string(),
                    "effective": amounts.effective.to_string(),
                })
            })
            .collect::<Vec<_>>()
    };
    let invoices: Vec<Value> = bill
        .invoices
        .iter()
        .map(|(id, currency, amounts)| {
            json!({"invoice": id, "currency": currency, "rows": amounts.rows, "billed": amounts.billed.to_string()})
        })
        .collect();
    let commitments: Vec<Value> = bill
        .commitments
        .iter()
        .map(|(id, commitment)| {
            json!({
                "commitment": id,
                "purchased": commitment.purchased.billed.to_string(),
                "used": commitment.used.effective.to_string(),
                "unused": commitment.unused.effective.to_string(),
            })
        })
        .collect();
    json!({
        "unused_commitment": amounts(&bill.idle),
        "other_issuer": amounts(&bill.elsewhere),
        "invoices": invoices,
        "commitments": commitments,
    })
}

/// Totals, components and findings as tables.
fn print(bill: &Bill, text: &Text) {
    let words = &text.cli;
    for (table, prefix) in main_tables(bill) {
        let values = [("format", bill.format.name().to_owned()), ("rows", table.rows.to_string())];
        out::line(&format!("{prefix}{}", fill(&words.bill_head, &values)));
        let mut head = vec![String::new(), words.bill_rows.clone()];
        head.extend(table.columns.iter().map(|name| out::visible(name)));
        let mut rows = vec![head];
        put_rows(&mut rows, &words.bill_all, &table.all, text);
        for (label, groups) in &table.by {
            rows.push(vec![fill(&words.bill_by, &[("column", label.clone())])]);
            for (key, group) in groups {
                put_rows(&mut rows, &format!("  {key}"), group, text);
            }
        }
        out::line(&out::columns(&rows));
        out::line("");
    }
    print_components(bill, text);
    print_findings(bill, text);
}

/// The row of a group; one for each currency where there are several.
fn put_rows(rows: &mut Vec<Vec<String>>, key: &str, group: &Group, text: &Text) {
    let words = &text.cli;
    let cells = |totals: &Totals| {
        totals
            .columns
            .iter()
            .map(|total| {
                if total.without() == 0 {
                    total.sum.to_string()
                } else {
                    fill(&words.bill_without, &[("sum", total.sum.to_string()), ("n", total.without().to_string())])
                }
            })
            .collect::<Vec<_>>()
    };
    let mut row = vec![out::visible(key), group.rows.to_string()];
    if let Some(totals) = &group.total {
        row.extend(cells(totals));
        rows.push(row);
        return;
    }
    row.extend(
        group.by_currency.iter().take(1).flat_map(|(_, totals)| &totals.columns).map(|_| words.bill_no_sum.clone()),
    );
    rows.push(row);
    for (code, totals) in &group.by_currency {
        let mut row =
            vec![format!("    {}", out::visible(if code.is_empty() { "–" } else { code })), totals.rows.to_string()];
        row.extend(cells(totals));
        rows.push(row);
    }
}

fn print_components(bill: &Bill, text: &Text) {
    let words = &text.cli;
    let head = [
        &words.bill_category,
        &words.bill_name,
        &words.bill_quantity,
        &words.bill_unit,
        &words.bill_unit_price,
        &words.bill_currency,
        &words.bill_billed,
        &words.bill_effective,
    ];
    let mut rows = vec![head.map(Clone::clone).to_vec()];
    let amount =
        |amount: &Option<bill::ExactDecimal>| amount.as_ref().map_or_else(|| "–".to_owned(), ToString::to_string);
    for component in &bill.components {
        rows.push(vec![
            text.name(&format!("bucket_{}", component.bucket.name())).to_owned(),
            out::visible(&component.name).chars().take(60).collect(),
            component.quantity.as_ref().map_or_else(|| "–".to_owned(), bill::ExactDecimal::trimmed),
            out::visible(&component.unit),
            component.unit_price.clone().unwrap_or_else(|| "–".to_owned()),
            out::visible(&component.currency),
            amount(&component.billed),
            amount(&component.effective),
        ]);
    }
    out::line(&words.bill_components);
    out::line(&out::columns(&rows));
    out::line("");
}

fn print_findings(bill: &Bill, text: &Text) {
    let words = &text.cli;
    if bill.findings.is_empty() {
        out::line(&words.bill_no_findings);
        return;
    }
    let head = [&words.bill_line, &words.bill_column, &words.bill_text, &words.bill_effect];
    let mut rows = vec![head.map(Clone::clone).to_vec()];
    for finding in &bill.findings {
        let effect = effect(finding, text);
        let values =
            [("effect", effect.clone()), ("n", finding.count.to_string()), ("last", finding.last_line.to_string())];
        let effect = match finding.count {
            _ if finding.is_rest => fill(&words.bill_rest, &values),
            0 | 1 => effect,
            _ => fill(&words.bill_times, &values),
        };
        rows.push(vec![
            finding.line.to_string(),
            out::visible(&finding.column),
            out::visible(&finding.text).chars().take(40).collect(),
            out::visible(&effect),
        ]);
    }
    out::line(&words.bill_findings);
    out::line(&out::columns(&rows));
}
