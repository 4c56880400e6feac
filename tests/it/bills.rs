//! Bills: every worked bill through the program, digit for digit; what deviates in them; files that are broken.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::cli::{leasebench, told};
use leasebench::domain::bill::{
    self, Basis, Bill, Binary, Bucket, DecimalMark, ExactDecimal, Finding, FindingKind as F, JsonFault, Options,
    PlannedAmount, Refusal, Role, Target, reconcile,
};

/// The folder of bills with its index: ours, or the one that `LEASEBENCH_BILLS` names.
fn folder() -> PathBuf {
    std::env::var_os("LEASEBENCH_BILLS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bills"), PathBuf::from)
}

fn ours(file: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bills").join(file)).unwrap()
}

/// Text as a number, where it is one; JSON integers too.
fn number(value: &Value) -> Option<ExactDecimal> {
    match value {
        Value::String(text) => ExactDecimal::read(text),
        Value::Number(number) => ExactDecimal::read(&number.to_string()),
        _ => None,
    }
}

/// What of `want` is otherwise in `got`, and how many values were compared.
fn differences(path: &str, want: &Value, got: &Value, n_values: &mut u32, out: &mut Vec<String>) {
    match (want, got) {
        (Value::Object(want), Value::Object(got)) => {
            for (key, want) in want {
                differences(&format!("{path} / {key}"), want, got.get(key).unwrap_or(&Value::Null), n_values, out);
            }
            // A group, or rows without a value, that the index does not know.
            let is_group_list = want.values().all(Value::is_object);
            let names: BTreeSet<&str> = want.keys().map(|key| key.trim_end_matches("_null_rows")).collect();
            for key in got.keys().filter(|key| !want.contains_key(*key)) {
                let is_null_count = key.strip_suffix("_null_rows").is_some_and(|name| names.contains(name));
                let is_unreadable = key.strip_suffix("_unreadable_rows").is_some_and(|name| names.contains(name));
                if is_group_list || is_null_count || is_unreadable {
                    out.push(format!("{path} / {key}: not in the index"));
                }
            }
        }
        _ => {
            *n_values += 1;
            let agree = match (number(want), number(got)) {
                (Some(want), Some(got)) => want == got,
                _ => want == got,
            };
            if !agree {
                out.push(format!("{path}: {want} wanted, {got} found"));
            }
        }
    }
}

/// The arguments that give all groupings and sums which an entry of the index names.
fn arguments(entry: &Value, path: &Path) -> Vec<String> {
    let mut args = vec!["import-bill".to_owned(), path.display().to_string(), "--json".to_owned()];
    let totals = entry["totals"].as_object().cloned().unwrap_or_default();
    let mut sums = BTreeSet::new();
    let mut columns_of = |group: &Value| {
        for key in group.as_object().into_iter().flatten().map(|(key, _)| key) {
            if key != "rows" && !key.ends_with("_null_rows") {
                sums.insert(key.clone());
            }
        }
    };
    for (key, value) in &totals {
        if key == "all" {
            columns_of(value);
        } else if let Some(by) = key.strip_prefix("by ") {
            args.extend(["--by".to_owned(), by.to_owned()]);
            value.as_object().into_iter().flatten().for_each(|(_, group)| columns_of(group));
        }
    }
    // The columns of a JSON bill are called after their tables there, and all of them are added up anyhow.
    let is_json = fs::read(path).is_ok_and(|bytes| {
        bytes.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| b"{[".contains(byte))
    });
    if !is_json {
        args.extend(sums.into_iter().flat_map(|name| ["--sum".to_owned(), name]));
    }
    for (value, bucket) in entry["bucket_rule"]["SkuMeter"].as_object().into_iter().flatten() {
        let bucket = bucket.as_str().unwrap().split(' ').next().unwrap();
        args.extend(["--rule".to_owned(), format!("SkuMeter={value}:{bucket}")]);
    }
    for (role, column) in entry["map"].as_object().into_iter().flatten() {
        args.extend(["--map".to_owned(), format!("{role}={}", column.as_str().unwrap())]);
    }
    args
}

/// What an index says beside the totals, as `got` should be read for it.
fn beside(entry: &Value, got: &Value, n_values: &mut u32, out: &mut Vec<String>) {
    let mut check = |path: &str, want: &Value, got: Value| differences(path, want, &got, n_values, out);
    let text = |value: ExactDecimal| Value::from(value.to_string());
    let sum = |list: &Value, pick: &dyn Fn(&Value) -> bool, name: &str| {
        let mut sum = ExactDecimal::ZERO;
        for item in list.as_array().into_iter().flatten().filter(|item| pick(item)) {
            sum.add(&number(&item[name]).unwrap());
        }
        sum
    };
    let categories = &got["categories"];
    for (id, invoice) in entry["invoice"].as_object().into_iter().flatten() {
        let billed = sum(&got["views"]["invoices"], &|item| item["invoice"] == id.as_str(), "billed");
        check("invoice", &invoice["payable"], text(billed));
    }
    for (key, value) in entry.as_object().into_iter().flatten() {
        if key.starts_with("leasebench_buckets") {
            for (bucket, want) in value.as_object().into_iter().flatten() {
                let of = |item: &Value| item["category"] == bucket.as_str();
                let found = serde_json::json!({
                    "rows": sum(categories, &of, "rows").to_string(),
                    "BilledCost": sum(categories, &of, "billed").to_string(),
                    "EffectiveCost": sum(categories, &of, "effective").to_string(),
                });
                check(bucket, want, found);
            }
        } else if key.starts_with("commitment check") {
            let any = |_: &Value| true;
            let commitments = &got["views"]["commitments"];
            check("purchase", &value["purchase BilledCost"], text(sum(commitments, &any, "purchased")));
            let mut spread = sum(commitments, &any, "used");
            spread.add(&sum(commitments, &any, "unused"));
            check("used and unused", &value["used+unused EffectiveCost"], text(spread));
        } else if key.starts_with("cost_of_work_of_the_month") {
            let is_work = |item: &Value| {
                !["tax", "credit", "correction", "adjustment"].contains(&item["category"].as_str().unwrap())
            };
            check("cost of work", value, text(sum(categories, &is_work, "effective")));
        } else if key.starts_with("of_which_diagnostic_idle") {
            check("idle", value, text(sum(&got["views"]["unused_commitment"], &|_| true, "effective")));
        } else if key.starts_with("other_issuer") {
            check("other issuer", value, text(sum(&got["views"]["other_issuer"], &|_| true, "effective")));
        }
    }
}

/// Every bill of the folder: each grouping that its index names is computed and compared, digit for digit.
#[test]
fn worked_bills() {
    let folder = folder();
    let index_path = folder.join("index.json");
    let index = fs::read_to_string(&index_path).unwrap_or_else(|error| panic!("{}: {error}", index_path.display()));
    let index: Value = serde_json::from_str(&index).unwrap_or_else(|error| panic!("{}: {error}", index_path.display()));
    let home = tempfile::tempdir().unwrap();
    let entries = index["files"].as_array().expect("the index has no list \"files\"");
    let mut n_agreed = 0;
    for entry in entries {
        let file = entry["file"].as_str().expect("an entry of the index names no file");
        let args = arguments(entry, &folder.join(file));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (code, out, err) = told(&leasebench(home.path(), &args).output().unwrap());
        let (mut wrong, mut n_values) = (Vec::new(), 0);
        if code == 2 {
            wrong.push(err.trim().to_owned());
        } else {
            let got: Value = serde_json::from_str(&out).unwrap();
            // Not the whole list of totals: the bill has more than the index names.
            let totals: &Map<String, Value> = entry["totals"].as_object().expect("an entry of the index has no totals");
            for (key, want) in totals {
                differences(key, want, &got["totals"][key], &mut n_values, &mut wrong);
            }
            beside(entry, &got, &mut n_values, &mut wrong);
        }
        n_agreed += u32::from(wrong.is_empty());
        println!("{file}: {}", if wrong.is_empty() { format!("{n_values} values agree") } else { wrong.join("; ") });
    }
    println!("{n_agreed} of {} bills agreed", entries.len());
    assert_eq!(usize::try_from(n_agreed).unwrap(), entries.len(), "some bills differ; the lines above say where");
}

fn read(bytes: &[u8]) -> Result<Bill, Refusal> {
    bill::read(bytes, &Options::default())
}

/// Findings of a kind: line, column, text, rows.
fn of_kind(bill: &Bill, kind: F) -> Vec<(u64, &str, &str, u64)> {
    let told = |finding: &'_ Finding| finding.kind == kind;
    bill.findings
        .iter()
        .filter(|finding| told(finding))
        .map(|finding| (finding.line, finding.column.as_str(), finding.text.as_str(), finding.count))
        .collect()
}

fn sum<'a>(bill: &'a Bill, column: &str) -> &'a bill::ColumnTotal {
    let table = &bill.tables[0];
    &table.all.total.as_ref().unwrap().columns[table.column(column).unwrap()]
}

#[test]
fn what_deviates_in_known_bills_is_told() {
    let focus = read(&ours("focus10_real.csv")).unwrap();
    assert_eq!(focus.format.name(), "FOCUS 1.0");
    assert_eq!(of_kind(&focus, F::ColumnNotInSpec), [(1, "", "Id", 1)]);
    assert_eq!(of_kind(&focus, F::NullWord), [(2, "ChargeClass", "NULL", 1120)]);
    assert_eq!(of_kind(&focus, F::NoAmount), [(36, "ContractedCost", "", 4)]);
    assert_eq!(of_kind(&focus, F::CaseVariant), [(36, "ChargeFrequency", "Usage-based", 4)]);
    assert_eq!(of_kind(&focus, F::NumberInTextColumn), [(2, "AvailabilityZone", "0.05", 34)]);
    assert_eq!(of_kind(&focus, F::OtherBillingPeriod), [(39, "BillingPeriodStart", "2024-10-01 00:00:00", 1)]);
    assert_eq!(of_kind(&focus, F::QuantityBlock)[0], (2, "PricingQuantity", "0.00000003000", 1));
    assert_eq!(of_kind(&focus, F::QuantityBlock).iter().map(|finding| finding.3).sum::<u64>(), 21);
    let block = focus.findings.iter().find(|finding| finding.kind == F::CostBlock).unwrap();
    assert_eq!(block.values, [("factor", "10000".to_owned()), ("value", "0.000015".to_owned())]);
    let whole = of_kind(&focus, F::CostIntegral);
    assert!(whole.contains(&(42, "EffectiveCost", "-3.00000000000", 80)), "{whole:?}");
    assert!(whole.contains(&(42, "ContractedCost", "-3.00000000000", 80)), "{whole:?}");
    assert!(!of_kind(&focus, F::NegativeUsage).is_empty());

    let commitments = read(&ours("focus12_spec_commitments.csv")).unwrap();
    assert_eq!(of_kind(&commitments, F::HeaderSpelling), [(1, "", "SkuPriceid", 1)]);
    let hour_30 = "2023-02-01T30:00:00Z";
    assert_eq!(
        of_kind(&commitments, F::TimeImpossible),
        [(5, "ChargePeriodEnd", hour_30, 1), (9, "ChargePeriodEnd", hour_30, 1)]
    );
    assert_eq!(of_kind(&commitments, F::OutsideBillingPeriod)[0], (2, "ChargePeriodEnd", "2024-01-01T00:00:00Z", 1));

    let saas = read(&ours("focus12_spec_saas.csv")).unwrap();
    assert_eq!(of_kind(&saas, F::NumberForm)[0], (19, "BilledCost", "$10,000.00 ", 1));
    assert_eq!(of_kind(&saas, F::TimeForm)[0], (2, "ChargePeriodStart", "4/1/25", 19));
    assert_eq!(of_kind(&saas, F::ValueNotInSpec), [(2, "ServiceCategory", "Database", 17)]);

    let azure = read(&ours("azure_ea_actual_real.csv")).unwrap();
    assert_eq!(of_kind(&azure, F::InclusiveEnd), [(2, "BillingPeriodEndDate", "9/30/2023", 18)]);
    assert!(of_kind(&azure, F::OutsideBillingPeriod).is_empty(), "the last day is inside");

    let month = read(&ours("focus12_gpu_month_constructed.csv")).unwrap();
    assert_eq!(of_kind(&month, F::PaidElsewhere), [(88, "BilledCost", "0", 1)]);
    assert_eq!(of_kind(&month, F::CorrectionOfOtherPeriod), [(90, "ChargePeriodStart", "2026-09-21T00:00:00Z", 1)]);
    assert_eq!(month.findings.len(), 2, "a sound bill: {:?}", month.findings);
    assert!(
        month.components.iter().any(|component| component.name == "Bundled Instance Hours" && component.covers_host)
    );

    for bill in [&focus, &commitments, &saas, &azure, &month] {
        assert!(!bill.leaves_out());
    }
}

#[test]
fn a_month_is_held_against_its_plan_on_both_readings() {
    let month = read(&ours("focus12_gpu_month_constructed.csv")).unwrap();
    let ratio = |text: &str| ExactDecimal::read(text).unwrap().to_ratio();
    let plan = [(Bucket::Accelerator, "11500"), (Bucket::Storage, "150"), (Bucket::Network, "1000")]
        .map(|(bucket, text)| PlannedAmount { bucket, amount: ratio(text) });
    let cash = reconcile(&plan, &month, "EUR", Basis::Cash);
    let accrual = reconcile(&plan, &month, "EUR", Basis::Accrual);
    assert_eq!((cash.whole.clone(), accrual.whole.clone()), (ratio("20121.97"), ratio("20149.87")));
    assert_eq!((cash.billed.clone(), accrual.billed.clone()), (ratio("17106.422198"), ratio("17134.322198")));
    assert_eq!(accrual.variance, ratio("4484.322198"));
    assert_eq!(accrual.unplanned, ratio("3922.865307"), "host, support and setup");
    assert_eq!((accrual.tax.clone(), accrual.credits.clone()), (ratio("3212.752218"), ratio("-150")));
    assert_eq!((accrual.corrections.clone(), accrual.rounding.clone()), (ratio("-47.2"), ratio("-0.004416")));
    assert_eq!((accrual.elsewhere.clone(), accrual.idle.clone()), (ratio("27.9"), ratio("1642.8")));
    // A plan in another currency meets nothing.
    assert_eq!(reconcile(&plan, &month, "USD", Basis::Cash).billed, ratio("0"));
}

#[test]
fn rows_of_a_month_go_to_the_runs_they_belong_to() {
    let run =
        |id: &str| Target { id: id.to_owned(), tag: Some(("run".to_owned(), id.to_owned())), ..Target::default() };
    let day = 86_400;
    let start = 1_790_812_800; // 2026-10-01T00:00:00Z
    let first_days = Target {
        id: "first days".to_owned(),
        start: Some(start),
        end: Some(start + 3 * day),
        resource: Some("res-gpu-a".to_owned()),
        ..Target::default()
    };
    let options = |targets| Options { targets, ..Options::default() };
    let bytes = ours("focus12_gpu_month_constructed.csv");
    let month = bill::read(&bytes[..], &options(vec![run("serve"), run("batch")])).unwrap();
    let rows: Vec<u64> = month.matching.matched.iter().map(|matched| matched.inside.rows).collect();
    assert_eq!((rows, month.matching.unmatched.rows), (vec![39, 37], 16));
    assert_eq!(month.matching.matched[0].inside.effective, ExactDecimal::read("11011.2").unwrap());
    let month = bill::read(&bytes[..], &options(vec![first_days])).unwrap();
    let matched = &month.matching.matched[0];
    assert_eq!((matched.inside.rows, matched.inside.effective.to_string().as_str()), (4, "1315.600000"));
    assert_eq!(matched.partly.rows, 4, "rows of the whole month on that machine");
}

const FOCUS: &str = "BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ServiceCategory,ChargePeriodStart";

#[test]
fn the_same_bill_in_other_clothes_has_the_same_totals() {
    let rows =
        "1.50,1.25,EUR,Usage,Compute,2026-10-01T00:00:00Z\n\"1,000.25\",2E-1,EUR,Usage,Storage,2026-10-01T00:00:00Z\n";
    let plain = format!("{FOCUS}\n{rows}");
    let semicolons = "BilledCost;EffectiveCost;BillingCurrency;ChargeCategory;ServiceCategory;ChargePeriodStart\n\
                      1,50;1,25;EUR;Usage;Compute;2026-10-01T00:00:00Z\n1.000,25;0,2;EUR;Usage;Storage;2026-10-01T00:00:00Z\n";
    let utf16: Vec<u8> = format!("\u{feff}{plain}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let json = "[{\"BilledCost\": 1.50, \"EffectiveCost\": 1.25, \"BillingCurrency\": \"EUR\", \"ChargeCategory\": \"Usage\", \"ServiceCategory\": \"Compute\"},\n\
                {\"BilledCost\": 1000.25, \"EffectiveCost\": 2E-1, \"BillingCurrency\": \"EUR\", \"ChargeCategory\": \"Usage\", \"ServiceCategory\": \"Storage\"}]";
    let lines = json.trim_matches(['[', ']']).replace("},", "}");
    for (name, bytes, wanted) in [
        ("plain", plain.clone().into_bytes(), &[][..]),
        ("mark", format!("\u{feff}{plain}").into_bytes(), &[F::ByteOrderMark]),
        ("utf-16", utf16, &[F::Utf16]),
        ("crlf", plain.replace('\n', "\r\n").into_bytes(), &[]),
        ("blank lines", plain.replace('\n', "\n\n").into_bytes(), &[F::BlankLines]),
        ("tabs", plain.replace("\"1,000.25\"", "1000.25").replace(',', "\t").into_bytes(), &[]),
        ("semicolons", semicolons.as_bytes().to_vec(), &[F::DecimalComma]),
        ("sep line", format!("sep=;\n{semicolons}").into_bytes(), &[F::DecimalComma]),
        ("snake case", plain.replace("BilledCost", "billed_cost").into_bytes(), &[F::HeaderSpelling]),
        ("json", json.as_bytes().to_vec(), &[]),
        ("json lines", lines.into_bytes(), &[]),
    ] {
        let bill = read(&bytes).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
        let table = &bill.tables[0];
        let sums: Vec<&ExactDecimal> =
            table.all.total.as_ref().unwrap().columns.iter().map(|total| &total.sum).collect();
        assert_eq!(sums, [&ExactDecimal::read("1001.75").unwrap(), &ExactDecimal::read("1.45").unwrap()], "{name}");
        assert_eq!(table.rows, 2, "{name}");
        for kind in wanted {
            assert!(!of_kind(&bill, *kind).is_empty(), "{name}: {kind:?}");
        }
    }
}

#[test]
fn broken_files_are_read_as_far_as_they_go_and_say_what_is_missing() {
    let row = "1.00,1.00,EUR,Usage,Compute,2026-10-01T00:00:00Z\n";
    let file = |rest: &str| format!("{FOCUS}\n{row}{rest}").into_bytes();
    let huge = format!("1.00,1.00,EUR,Usage,\"{}\",2026-10-01T00:00:00Z\n", "x".repeat(2 << 20));
    // The rest of the file, the finding, and the total of what could be read.
    type Broken<'a> = (&'a str, Vec<u8>, F, (u64, &'a str), &'a str, bool);
    let cases: Vec<Broken<'_>> = vec![
        ("cut", file("2.50,2.50,EU"), F::CutFile, (3, "ChargeCategory"), "3.50", true),
        (
            "open quote",
            file("\"2.50,2.50,EUR\n3,3,EUR,Usage,Compute,\n"),
            F::OpenQuote,
            (3, "BilledCost"),
            "1.00",
            true,
        ),
        ("short row", file("2.50,2.50,EUR\n"), F::TooFewCells, (3, "ChargeCategory"), "3.50", false),
        (
            "long row",
            file("2,50,2.50,EUR,Usage,Compute,2026-10-01T00:00:00Z\n"),
            F::TooManyCells,
            (3, ""),
            "3.00",
            false,
        ),
        ("no number", file("abc,1,EUR,Usage,Compute,\n"), F::NumberUnreadable, (3, "BilledCost"), "1.00", true),
        (
            "bytes",
            [&file("2.50,1,EUR,Usage,Stor")[..], b"\xe9", b",\n"].concat(),
            F::NotUtf8,
            (3, "ServiceCategory"),
            "3.50",
            false,
        ),
        ("huge cell", file(&huge), F::ValueNotInSpec, (3, "ServiceCategory"), "2.00", false),
        ("stray quote", file("2.50,1,EUR,Usage,Com\"pute,\n"), F::StrayQuote, (3, "ServiceCategory"), "3.50", false),
        ("same row", file(row), F::IdenticalRow, (3, ""), "2.00", false),
        ("null", file("N/A,null,EUR,Usage,Compute,\n"), F::NullWord, (3, "BilledCost"), "1.00", false),
    ];
    for (name, bytes, kind, (line, column), total, leaves_out) in cases {
        let bill = read(&bytes).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
        let found = of_kind(&bill, kind);
        assert!(found.iter().any(|found| (found.0, found.1) == (line, column)), "{name}: {:?}", bill.findings);
        assert_eq!(sum(&bill, "BilledCost").sum.to_string(), total, "{name}");
        assert_eq!(bill.leaves_out(), leaves_out, "{name}");
        assert!(bill.findings.iter().all(|finding| finding.text.chars().count() <= 201), "{name}");
    }
    let empty = read(format!("{FOCUS}\n").as_bytes()).unwrap();
    assert_eq!((empty.tables[0].rows, of_kind(&empty, F::NoRows).len()), (0, 1));
}

#[test]
fn what_is_no_bill_is_refused_with_its_reason() {
    for (bytes, want) in [
        (&b""[..], Refusal::Empty),
        (b"\n \n", Refusal::Empty),
        (b"\x1f\x8b\x08\0\0\0", Refusal::Binary(Binary::Gzip)),
        (b"PK\x03\x04\x14\0", Refusal::Binary(Binary::Zip)),
        (b"PAR1\0\0", Refusal::Binary(Binary::Parquet)),
        (b"a,b\n\0\x01\x02\x03\x04", Refusal::Binary(Binary::Other)),
        (b"2026-10-01,gpu,12.50\n2026-10-02,gpu,3\n", Refusal::NoHeader("2026-10-01,gpu,12.50".to_owned())),
        (b"Name,Colour\nx,red\n", Refusal::NoAmounts(vec!["Name".to_owned(), "Colour".to_owned()])),
        (b"[{\"amount\": 1},\n{\"amount\": 2", Refusal::Json(2, JsonFault::CutOff)),
        (b"{\"note\": \"x\"}", Refusal::Json(1, JsonFault::NoRecords)),
        (b"[1, 2]", Refusal::Json(1, JsonFault::NoRecords)),
    ] {
        assert_eq!(read(bytes).unwrap_err(), want, "{}", bytes.escape_ascii());
    }
    let by = Options { by: vec![vec!["Nope".to_owned()]], ..Options::default() };
    let refused = bill::read(format!("{FOCUS}\n").as_bytes(), &by).unwrap_err();
    assert!(matches!(refused, Refusal::ColumnUnknown(name, _) if name == "Nope"));
}

#[test]
fn two_currencies_have_no_sum() {
    let text = format!("{FOCUS}\n1.00,1,EUR,Usage,Compute,\n2.00,2,USD,Usage,Compute,\n4.00,4,USD,Usage,Storage,\n");
    let options = Options { by: vec![vec!["ServiceCategory".to_owned()]], ..Options::default() };
    let bill = bill::read(text.as_bytes(), &options).unwrap();
    let table = &bill.tables[0];
    assert_eq!(table.all.total, None);
    let by: Vec<(&str, String)> =
        table.all.by_currency.iter().map(|(code, totals)| (code.as_str(), totals.columns[0].sum.to_string())).collect();
    assert_eq!(by, [("EUR", "1.00".to_owned()), ("USD", "6.00".to_owned())]);
    let groups = &table.by[0].1;
    assert_eq!(groups["Compute"].total, None);
    assert_eq!(groups["Storage"].total.as_ref().unwrap().columns[0].sum.to_string(), "4.00");
    let one = read(format!("{FOCUS}\n1.00,1,EUR,Tax,Compute,\n2.00,2,,Tax,Compute,\n").as_bytes()).unwrap();
    assert_eq!((sum(&one, "BilledCost").sum.to_string(), one.currencies()), ("3.00".to_owned(), vec!["EUR"]));
    assert_eq!(of_kind(&one, F::CurrencyMissing), [(3, "BillingCurrency", "", 1)]);
    assert_eq!(one.bucket(Bucket::Tax, "EUR").unwrap().billed.to_string(), "3.00");
    assert_eq!(of_kind(&bill, F::MixedCurrencies), [(3, "BillingCurrency", "EUR, USD", 3)]);
    assert!(bill.leaves_out());
}

#[test]
fn a_column_without_values_is_no_total_unless_the_format_lives_on_it() {
    let text = "BilledCost,ContractedCost,PricingCurrencyEffectiveCost,ChargeCategory,ServiceCategory\n1,NULL,,Usage,Compute\n";
    let bill = read(text.as_bytes()).unwrap();
    let table = &bill.tables[0];
    assert_eq!(
        (&table.columns[..], &table.empty_columns[..]),
        (&["BilledCost".to_owned(), "ContractedCost".to_owned()][..], &["PricingCurrencyEffectiveCost".to_owned()][..])
    );
    assert_eq!((sum(&bill, "ContractedCost").sum.to_string().as_str(), sum(&bill, "ContractedCost").nulls), ("0", 1));
    let options = Options { sum: vec!["PricingCurrencyEffectiveCost".to_owned()], ..Options::default() };
    assert_eq!(bill::read(text.as_bytes(), &options).unwrap().tables[0].columns.len(), 3);
}

#[test]
fn a_plain_table_needs_no_more_than_a_mapping() {
    let text =
        "Tag;Maschine;Stunden;Preis;Summe\n01.10.2026;m1;10;2,5;25,00\n02.10.2026;m2;4;2,5;10,00\nGesamt;;;;35,00\n";
    let map = [
        (Role::Start, "Tag"),
        (Role::Meter, "Maschine"),
        (Role::Quantity, "Stunden"),
        (Role::UnitPrice, "Preis"),
        (Role::Billed, "Summe"),
    ]
    .map(|(role, name)| (role, name.to_owned()));
    let rules = vec![bill::Rule { column: "Maschine".to_owned(), value: "m1".to_owned(), bucket: Bucket::Accelerator }];
    let options = Options { map: map.to_vec(), rules, currency: Some("EUR".to_owned()), ..Options::default() };
    let bill = bill::read(text.as_bytes(), &options).unwrap();
    assert_eq!(sum(&bill, "Summe").sum.to_string(), "70.00");
    assert_eq!(of_kind(&bill, F::TotalRow), [(4, "", "Gesamt,,,,35,00", 1)]);
    assert_eq!(bill.bucket(Bucket::Accelerator, "EUR").unwrap().billed.to_string(), "25.00");
    assert!(of_kind(&bill, F::CurrencyMissing).is_empty() && of_kind(&bill, F::PriceMismatch).is_empty());

    // Nothing but ambiguous numbers: the person says which.
    let text = "Amount\n\"1,234\"\n";
    for (mark, want) in [(None, "1234"), (Some(DecimalMark::Comma), "1.234")] {
        let options = Options { mark, ..Options::default() };
        assert_eq!(sum(&bill::read(text.as_bytes(), &options).unwrap(), "Amount").sum.to_string(), want);
    }
    // Semicolons speak for the comma, where there is one.
    for (text, want) in [("Item;Amount\nx;1,234\n", "1.234"), ("Item;Amount\nx;1.234\n", "1.234")] {
        assert_eq!(sum(&read(text.as_bytes()).unwrap(), "Amount").sum.to_string(), want, "{text}");
    }
    // Both marks in one file: what could be either is in no total.
    let bill = read(b"Amount\n0.5\n\"0,25\"\n\"1,234\"\n").unwrap();
    assert_eq!((sum(&bill, "Amount").sum.to_string().as_str(), sum(&bill, "Amount").unreadable), ("0.75", 1));
    assert!(bill.leaves_out());
}

#[test]
fn records_of_a_provider_keep_whole_and_parts_apart() {
    let text = r#"{"currency": "USD", "charges": {"results": [
        {"start": 1767225600, "end": 1767229200, "type": "instance", "source": "i-1", "amount": 3.001, "items": [
            {"type": "gpu", "amount": 2.5}, {"type": "disk", "amount": 0.5}]},
        7
    ]}, "billing_records": [
        {"time": "2026-03-01T00:00:00Z", "podId": "p", "gpuTypeId": "H100", "amount": 0.10000000000000000001, "timeBilledMs": 0}]}"#;
    let bill = read(text.as_bytes()).unwrap();
    let names: Vec<(&str, u64)> = bill.tables.iter().map(|table| (table.name.as_str(), table.rows)).collect();
    assert_eq!(names, [("charges", 1), ("charges item", 2), ("billing_records", 1)]);
    let amount = |table: usize| {
        let table = &bill.tables[table];
        table.all.total.as_ref().unwrap().columns[table.column("amount").unwrap()].sum.to_string()
    };
    assert_eq!([amount(0), amount(1), amount(2)], ["3.001", "3.0", "0.10000000000000000001"]);
    assert_eq!(of_kind(&bill, F::ContractRounding), [(2, "amount", "3.001", 1)]);
    assert_eq!(of_kind(&bill, F::BilledWhileStopped), [(6, "amount", "0.10000000000000000001", 1)]);
    assert_eq!(of_kind(&bill, F::NotARecord), [(4, "charges.results", "7", 1)]);
    assert_eq!(bill.bucket(Bucket::Accelerator, "USD").unwrap().billed.to_string(), "2.5");
    assert_eq!(
        bill.bucket(Bucket::Storage, "USD").map(|amounts| amounts.billed.to_string()),
        Some("0.60000000000000000001".to_owned())
    );
    assert_eq!(bill.bucket(Bucket::Adjustment, "USD").unwrap().billed.to_string(), "0.001");
}

#[test]
fn the_command_line_speaks_in_totals_and_leaves_with_what_is_missing() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("b");
    let run = |text: &str, args: &[&str]| {
        fs::write(&path, text).unwrap();
        let all = [&["import-bill", path.to_str().unwrap()], args].concat();
        told(&leasebench(temp.path(), &all).output().unwrap())
    };
    let sound = "Item,Amount,Currency\ngpu hours,1.50,USD\ndisk,0.25,USD\n";
    let (code, out, err) = run(sound, &["--by", "Item", "--json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let got: Value = serde_json::from_str(&out).unwrap();
    let want = serde_json::json!({
        "all": {"rows": 2, "Amount": "1.75"},
        "by Item": {"disk": {"rows": 1, "Amount": "0.25"}, "gpu hours": {"rows": 1, "Amount": "1.50"}},
    });
    assert_eq!((&got["totals"], &got["format"]), (&want, &Value::from("plain CSV")));
    assert_eq!((&got["rows_without"], &got["findings"]), (&serde_json::json!({}), &serde_json::json!([])));
    assert_eq!(got["components"][0]["category"], "accelerator");

    let (code, out, _) = run("Item,Amount,Currency\nx,?,USD\n", &["--json"]);
    let got: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &got["rows_without"]), (1, &serde_json::json!({"Amount": 1})));
    let finding = &got["findings"][0];
    assert_eq!((&finding["line"], &finding["column"], &finding["text"]), (&2.into(), &"Amount".into(), &"?".into()));
    assert_eq!(finding["effect"], "Not in the total of this column: not a number");

    let (code, out, _) = run(sound, &["--by", "Item"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("plain CSV, 2 rows\n"), "{out}");
    for (text, args) in
        [("", &[][..]), (sound, &["--by", "Nope"]), (sound, &["--map", "x"]), (sound, &["--rule", "Item=gpu:x"])]
    {
        let (code, out, err) = run(text, args);
        assert_eq!((code, out.as_str(), err.is_empty()), (2, "", false), "{args:?}");
    }
}

#[test]
fn every_finding_has_its_words() {
    use leasebench::domain::text::{Language, Text};

    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/domain/bill/finding.rs")).unwrap();
    let wanted = super::house::variants(&source, "FindingKind");
    assert!(wanted.len() > 40, "the kinds were not found");
    for text in Language::ALL.map(Text::of) {
        let known: BTreeSet<String> = text.bill_findings.keys().map(|kind| kind.name()).collect();
        let missing: Vec<&String> = wanted.iter().filter(|kind| !known.contains(*kind)).collect();
        assert!(missing.is_empty(), "without words: {missing:?}");
    }
}

/// Bills that were mutated by seed: read or refused, never a panic, and what is counted is counted in each grouping.
#[test]
fn mutated_bills_are_read_or_refused_and_lose_no_row() {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    let files = [
        "focus10_real.csv",
        "focus12_spec_saas.csv",
        "aws_cur_legacy_real.csv",
        "azure_ea_actual_real.csv",
        "marketplace_native_constructed.json",
    ];
    let by = ["ChargeCategory", "ChargeCategory", "pricing/unit", "UnitOfMeasure", "type"];
    let starts: Vec<Vec<u8>> = files
        .iter()
        .map(|file| {
            let bytes = ours(file);
            let n_lines = if file.ends_with("json") { usize::MAX } else { 9 };
            bytes.split_inclusive(|byte| *byte == b'\n').take(n_lines).flatten().copied().collect()
        })
        .collect();
    let (mut n_read, mut n_refused) = (0, 0);
    for seed in 0..2_000_u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let at = super::hostile::below(&mut rng, files.len());
        let mut bytes = starts[at].clone();
        for _ in 0..=super::hostile::below(&mut rng, 3) {
            super::hostile::mutate(&mut rng, &mut bytes);
        }
        let options = Options { by: vec![vec![by[at].to_owned()]], ..Options::default() };
        let Ok(bill) = bill::read(BufReader::with_capacity(97, &bytes[..]), &options) else {
            n_refused += 1;
            continue;
        };
        n_read += 1;
        for table in &bill.tables {
            let rows: u64 = table.by[0].1.values().map(|group| group.rows).sum();
            assert_eq!((table.rows, table.all.rows), (rows, rows), "seed {seed}");
            for (column, name) in table.columns.iter().enumerate() {
                let add = |groups: &mut dyn Iterator<Item = &bill::Group>| {
                    let mut sum = ExactDecimal::ZERO;
                    for (_, totals) in groups.flat_map(|group| &group.by_currency) {
                        sum.add(&totals.columns[column].sum);
                    }
                    sum
                };
                let (all, groups) = (add(&mut std::iter::once(&table.all)), add(&mut table.by[0].1.values()));
                assert_eq!(all, groups, "seed {seed}: {name}");
            }
        }
        assert!(bill.findings.len() < 5_000, "seed {seed}");
    }
    println!("{n_read} read, {n_refused} refused");
    assert!(n_read > 500, "most of what is read is refused");
}

/// A long bill that is made while it is read.
struct LongBill {
    rows: u64,
    made: u64,
    text: Vec<u8>,
    at: usize,
}

impl Read for LongBill {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.text.len() {
            self.text.clear();
            self.at = 0;
            for _ in 0..100 {
                if self.made >= self.rows {
                    break;
                }
                let n = self.made;
                self.made += 1;
                let (day, hour) = (1 + n / 70_000, n % 23);
                let line = format!(
                    "zone-{},{}.{:06},acct-0001,EUR,2026-11-01T00:00:00Z,2026-10-01T00:00:00Z,Usage,,On-demand use of machine {},Usage-Based,2026-10-{day:02}T{:02}:00:00Z,2026-10-{day:02}T{hour:02}:00:00Z,{n}.50,{}.25,GPU Hours,Example GPU Cloud,Compute,Virtual Machines,GPU Hours {},res-{},\"{{\"\"team\"\": \"\"t{}\"\", \"\"n\"\": \"\"{n}\"\"}}\"\n",
                    n % 3,
                    n % 97,
                    n % 999_983,
                    n % 4000,
                    hour + 1,
                    n % 10_007,
                    n % 12,
                    n % 4000,
                    n % 13
                );
                self.text.extend_from_slice(line.as_bytes());
            }
        }
        let n = buffer.len().min(self.text.len() - self.at);
        buffer[..n].copy_from_slice(&self.text[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

fn long_bill(rows: u64) -> LongBill {
    let header = "AvailabilityZone,BilledCost,BillingAccountId,BillingCurrency,BillingPeriodEnd,BillingPeriodStart,ChargeCategory,ChargeClass,ChargeDescription,ChargeFrequency,ChargePeriodEnd,ChargePeriodStart,EffectiveCost,PricingQuantity,PricingUnit,ProviderName,ServiceCategory,ServiceSubcategory,SkuMeter,ResourceId,Tags\n";
    LongBill { rows, made: 0, text: header.as_bytes().to_vec(), at: 0 }
}

/// Seconds and memory of two million rows, for a person to look at: `cargo test --release … long_bill -- --ignored --nocapture`.
#[test]
#[ignore = "two million rows; prints figures that depend on the machine"]
fn long_bill_of_two_million_rows() {
    let start = std::time::Instant::now();
    let by = vec![vec!["ServiceCategory".to_owned()], vec!["SkuMeter".to_owned(), "ResourceId".to_owned()]];
    let options = Options { by, ..Options::default() };
    let bill = bill::read(BufReader::with_capacity(64 << 10, long_bill(2_000_000)), &options).unwrap();
    let peak = fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| status.lines().find(|line| line.starts_with("VmHWM")).map(str::to_owned));
    println!("{} rows in {:.1} s, {}", bill.tables[0].rows, start.elapsed().as_secs_f64(), peak.unwrap_or_default());
    assert_eq!(bill.tables[0].rows, 2_000_000);
}

#[test]
fn a_long_bill_keeps_its_findings_and_groups_within_bounds() {
    // Each row is a value of its own here, and each has something to say.
    let by = vec![vec!["EffectiveCost".to_owned()]];
    let bill = bill::read(BufReader::new(long_bill(3000)), &Options { by, ..Options::default() }).unwrap();
    assert_eq!((bill.tables[0].rows, bill.tables[0].by[0].1.len()), (3000, 3000));
    assert!(bill.findings.len() < 600, "{}", bill.findings.len());
    assert!(bill.components.len() <= 5001);
}
