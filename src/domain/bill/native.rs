//! Bills as a provider's own interface gives them: records in JSON, also with parts inside.

use std::io::BufRead;

use super::cell::DecimalMark;
use super::decimal::ExactDecimal;
use super::finding::{FindingKind as F, Findings};
use super::format::{Format, bare};
use super::json::{self, Met, Node, Object};
use super::ledger::Ledger;
use super::refusal::{JsonFault, Refusal};
use super::rows::Record;
use super::{Closed, Options};

/// What the name of a table of parts ends with.
pub(super) const DETAIL: &str = " item";
/// Names that wrap the records and say nothing about them.
const WRAPPERS: [&str; 8] = ["results", "items", "data", "records", "rows", "list", "values", "response"];
/// Tables of one document.
const MAX_TABLES: usize = 50;

/// Reads the records of a document.
pub(super) fn read(
    text: impl BufRead,
    head: &[u8],
    options: &Options,
    findings: &mut Findings,
) -> Result<(Format, Vec<Closed>), Refusal> {
    let mut tables = Tables { options, currency: None, ledgers: Vec::new(), record: Record::default() };
    json::walk(text, json::is_lines(head), &mut |met| {
        match met {
            Met::Record(path, object) => tables.record(&name_of(&path, &object), &object, findings)?,
            Met::Stray(path, line, text) => findings.add(F::NotARecord, line, &path.join("."), &text),
            Met::Attribute(name, node) => {
                if matches!(bare(&name).as_str(), "currency" | "currencycode" | "billingcurrency") {
                    tables.currency = Some(node.text());
                }
            }
        }
        Ok(())
    })?;
    let ledgers = tables.ledgers;
    let names = || ledgers.iter().flat_map(|ledger| ledger.columns.names.clone()).collect::<Vec<_>>();
    if ledgers.is_empty() {
        return Err(Refusal::Json(1, JsonFault::NoRecords));
    }
    if ledgers.iter().all(|ledger| ledger.columns.sums.is_empty()) {
        return Err(Refusal::NoAmounts(names()));
    }
    for (idx, by) in options.by.iter().enumerate() {
        if ledgers.iter().all(|ledger| ledger.lacks(idx).is_some()) {
            let missing =
                ledgers.first().and_then(|ledger| ledger.lacks(idx)).map_or_else(|| by.join("+"), str::to_owned);
            return Err(Refusal::ColumnUnknown(missing, names()));
        }
    }
    for name in options.map.iter().map(|(_, name)| name).chain(&options.sum) {
        if ledgers.iter().all(|ledger| ledger.columns.find(name).is_none()) {
            return Err(Refusal::ColumnUnknown(name.clone(), names()));
        }
    }
    let format = ledgers.first().map_or(Format::NativeJson, |ledger| ledger.columns.format);
    Ok((format, ledgers.into_iter().map(|ledger| ledger.done(findings)).collect()))
}

/// The name of the table that a record belongs to: the last name on the way to it that says something, else what its
/// fields say.
fn name_of(path: &[String], object: &Object) -> String {
    if let Some(name) = path.iter().rev().find(|name| !WRAPPERS.contains(&bare(name).as_str())) {
        return name.clone();
    }
    let has = |name: &str| object.fields.iter().any(|(other, _)| other == name);
    if has("timeBilledMs") {
        "billing_records".to_owned()
    } else if has("items") && has("amount") {
        "charges".to_owned()
    } else {
        String::new()
    }
}

struct Tables<'o> {
    options: &'o Options,
    /// The currency that the document names beside its records.
    currency: Option<String>,
    ledgers: Vec<Ledger<'o>>,
    record: Record,
}

impl<'o> Tables<'o> {
    fn record(&mut self, table: &str, object: &Object, findings: &mut Findings) -> Result<(), Refusal> {
        let parts: Vec<&Object> = object
            .fields
            .iter()
            .filter(|(name, _)| name == "items")
            .flat_map(|(_, node)| match node {
                Node::List(nodes) => nodes.as_slice(),
                _ => &[],
            })
            .filter_map(|node| match node {
                Node::Object(part) => Some(part),
                _ => None,
            })
            .collect();
        let mut fields: Vec<(String, String)> = object
            .fields
            .iter()
            .filter(|(name, node)| !(name == "items" && matches!(node, Node::List(_))))
            .map(|(name, node)| (name.clone(), node.text()))
            .collect();
        if let Some(currency) = &self.currency
            && !fields.iter().any(|(name, _)| bare(name).contains("currency"))
        {
            fields.push(("currency".to_owned(), currency.clone()));
        }
        let at = self.ledger(table, &fields)?;
        self.count(at, object.line, &fields, !parts.is_empty(), findings);
        if parts.is_empty() {
            return Ok(());
        }
        let whole = self.ledgers.get(at).and_then(Ledger::last_amount).cloned();
        let mut sum = ExactDecimal::ZERO;
        let detail = format!("{table}{DETAIL}");
        for part in parts {
            let mut parts_fields: Vec<(String, String)> =
                part.fields.iter().map(|(name, node)| (name.clone(), node.text())).collect();
            // A part is in the currency of its whole, unless it names one.
            let is_currency = |(name, _): &&(String, String)| bare(name).contains("currency");
            if let Some(currency) = fields.iter().find(is_currency)
                && !parts_fields.iter().any(|field| is_currency(&field))
            {
                parts_fields.push(currency.clone());
            }
            let at = self.ledger(&detail, &parts_fields)?;
            self.count(at, part.line, &parts_fields, false, findings);
            if let Some(amount) = self.ledgers.get(at).and_then(Ledger::last_amount) {
                sum.add(amount);
            }
        }
        if let Some(whole) = whole
            && whole != sum
            && let Some(ledger) = self.ledgers.get_mut(at)
        {
            let difference = whole.minus(&sum);
            let column = ledger.amount_column();
            let value = difference.to_string();
            findings.add_with(F::ContractRounding, object.line, &column, &whole.to_string(), || vec![("value", value)]);
            ledger.add_rounding(object.line, &difference);
        }
        Ok(())
    }

    /// The position of a table, with the columns that this record has.
    fn ledger(&mut self, name: &str, fields: &[(String, String)]) -> Result<usize, Refusal> {
        if let Some(at) = self.ledgers.iter().position(|ledger| ledger.name == name) {
            if let Some(ledger) = self.ledgers.get_mut(at) {
                let known = &ledger.columns.names;
                let new: Vec<String> =
                    fields.iter().map(|(name, _)| name).filter(|name| !known.contains(name)).cloned().collect();
                if known.len() + new.len() > 4096 {
                    return Err(Refusal::TooManyColumns(known.len() + new.len()));
                }
                if !new.is_empty() {
                    ledger.extend(new)?;
                }
            }
            return Ok(at);
        }
        if self.ledgers.len() >= MAX_TABLES {
            return Err(Refusal::TooManyColumns(self.ledgers.len()));
        }
        let names = fields.iter().map(|(name, _)| name.clone()).collect();
        self.ledgers.push(Ledger::new(name.to_owned(), names, true, DecimalMark::Point, self.options)?);
        Ok(self.ledgers.len() - 1)
    }

    fn count(&mut self, at: usize, line: u64, fields: &[(String, String)], has_parts: bool, findings: &mut Findings) {
        let Some(ledger) = self.ledgers.get_mut(at) else { return };
        self.record.start(line);
        for name in &ledger.columns.names {
            let text = fields.iter().find(|(other, _)| other == name).map_or("", |(_, text)| text.as_str());
            self.record.push(text);
        }
        ledger.is_whole_of_parts = has_parts;
        ledger.row(&self.record, findings);
    }
}
