//! Fine-tuning and image generation: predictions held against published runs, with nothing measured looked at.

use std::collections::BTreeMap;

use leasebench::domain::memory::{Band, Catalogue, GIB, image, train};

const FINETUNE: &str = include_str!("../memory/finetune.csv");
const IMAGE: &str = include_str!("../memory/image.csv");

type Row = BTreeMap<String, String>;

fn rows(text: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let row = |record: csv::StringRecord| head.iter().zip(&record).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    reader.records().map(|record| row(record.unwrap())).collect()
}

fn training(row: &Row, catalogue: &Catalogue) -> Result<Band, Vec<&'static str>> {
    let read = train::RowSetup::read(|column| row.get(column).map(String::as_str), catalogue);
    let setup = read.setup.ok_or(read.missing)?;
    Ok(train::predict(&setup)?.peak.scaled(1.0 / GIB))
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

/// One row's figure against the prediction, in the unit that fits better where the source does not say which it is.
struct Held {
    group: String,
    error: f64,
    covered: bool,
}

fn held(group: String, bytes: Band, measured: f64, unit_known: bool) -> Held {
    let in_unit = |unit: f64| {
        let band = bytes.scaled(1.0 / unit);
        (band.value / measured - 1.0, band.holds(measured))
    };
    let ((gib, in_gib), (gb, in_gb)) = (in_unit(GIB), in_unit(1e9));
    if unit_known || gib.abs() <= gb.abs() {
        Held { group, error: gib, covered: in_gib || (!unit_known && in_gb) }
    } else {
        Held { group, error: gb, covered: in_gb || in_gib }
    }
}

/// Prints signed errors by group and gives (median, 90th percentile, largest) of their sizes and the covered share.
fn distribution(title: &str, all: &[Held]) -> (f64, f64, f64, f64) {
    let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for one in all {
        groups.entry(&one.group).or_default().push(one.error);
    }
    println!("{title}: {} rows", all.len());
    for (group, mut errors) in groups {
        errors.sort_by(f64::total_cmp);
        let (low, high) = (errors[0], errors[errors.len() - 1]);
        let median = errors[errors.len() / 2];
        println!(
            "  {group:40} n {:3}  median {:+.1} %  {:+.1} … {:+.1} %",
            errors.len(),
            median * 1e2,
            low * 1e2,
            high * 1e2
        );
    }
    let mut sizes: Vec<f64> = all.iter().map(|one| one.error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let at = |share: usize| sizes[(sizes.len() * share / 100).min(sizes.len() - 1)];
    #[allow(clippy::cast_precision_loss, reason = "a few hundred rows")]
    let covered = all.iter().filter(|one| one.covered).count() as f64 / all.len() as f64;
    println!(
        "  all: median {:.1} %  p90 {:.1} %  max {:.1} %  covered {:.0} %",
        at(50) * 1e2,
        at(90) * 1e2,
        at(100) * 1e2,
        covered * 1e2
    );
    (at(50), at(90), at(100), covered)
}

#[test]
fn fine_tuning_peaks_are_within_their_goal() {
    let catalogue = Catalogue::builtin();
    let (mut stated, mut every) = (Vec::new(), Vec::new());
    for row in rows(FINETUNE) {
        let cell = |column: &str| row.get(column).map(String::as_str);
        let measured = number(&row, "peak_gib_per_gpu");
        let states = train::states_its_settings(cell);
        let read = train::RowSetup::read(cell, catalogue);
        let Some(setup) = read.setup else {
            println!("{} {} {}: no prediction, {:?} missing", row["id"], row["model"], row["method"], read.missing);
            assert!(!read.missing.is_empty(), "{}", row["id"]);
            continue;
        };
        let peak = train::predict(&setup).unwrap().peak;
        let group = || format!("{} {} {}", setup.facts.model, row["method"], row["sharding"]);
        let unit_known = !row["peak_kind"].contains("GB");
        if let Err(open) = &states {
            println!(
                "{} {} {}: {:.1} GiB of {measured} ({:.1} … {:.1}), not stated: {open:?}",
                row["id"],
                row["model"],
                row["method"],
                peak.value / GIB,
                peak.low / GIB,
                peak.high / GIB
            );
        } else {
            stated.push(held(group(), peak, measured, unit_known));
        }
        every.push(held(group(), peak, measured, unit_known));
    }
    assert!(stated.len() >= 160, "{}", stated.len());
    let (median, p90, _, covered) = distribution("fine-tuning, settings stated", &stated);
    assert!(median <= 0.05 && p90 <= 0.15, "median {median}, p90 {p90}");
    assert!(covered >= 0.9, "{covered}");
    let (_, _, _, covered) = distribution("fine-tuning, every row", &every);
    assert!(covered >= 0.9, "{covered}");
}

#[test]
fn image_peaks_are_within_their_goal() {
    let mut all = Vec::new();
    for row in rows(IMAGE) {
        let read = image::RowSetup::read(|column| row.get(column).map(String::as_str));
        let peak = image::predict(&read.setup.unwrap()).unwrap().peak;
        let one = held(row["model"].clone(), peak, number(&row, "peak_gb"), read.unit.is_some());
        if one.error.abs() > 0.15 {
            println!("{} {}: {:+.1} %", row["id"], row["configuration"], one.error * 1e2);
        }
        all.push(one);
    }
    let (median, p90, _, covered) = distribution("images", &all);
    assert!(median <= 0.05 && p90 <= 0.15, "median {median}, p90 {p90}");
    assert!(covered >= 0.9, "{covered}");
}

#[test]
fn nothing_measured_is_looked_at() {
    let catalogue = Catalogue::builtin();
    for mut row in rows(FINETUNE) {
        let before = training(&row, catalogue);
        for column in ["peak_gib_per_gpu", "load_gib", "gpu", "id", "origin"] {
            row.insert(column.to_owned(), "12345.6".to_owned());
        }
        assert_eq!(training(&row, catalogue), before);
    }
    for mut row in rows(IMAGE) {
        let predicted = |row: &Row| {
            let read = image::RowSetup::read(|column| row.get(column).map(String::as_str));
            image::predict(&read.setup.unwrap()).unwrap()
        };
        let before = predicted(&row);
        for column in ["peak_gb", "after_load_gb", "gpu", "id"] {
            row.insert(column.to_owned(), "12345.6".to_owned());
        }
        assert_eq!(predicted(&row), before);
    }
}

#[test]
fn a_name_only_selects_facts() {
    let builtin = Catalogue::builtin();
    for mut row in rows(FINETUNE) {
        let Some(facts) = builtin.find(&row["model"]) else { continue };
        let before = training(&row, builtin);
        let mut other = Catalogue::default();
        let mut facts = facts.clone();
        facts.model = "nobody/knows-me".to_owned();
        other.push(facts);
        row.insert("model".to_owned(), "nobody/knows-me".to_owned());
        assert_eq!(training(&row, &other), before);
        row.insert("model".to_owned(), "nobody/knows-that-either".to_owned());
        assert_eq!(training(&row, &other), Err(vec!["facts"]));
    }
}

#[test]
fn bad_rows_say_what_is_wrong() {
    let good = rows(FINETUNE).into_iter().find(|row| row["method"] == "lora").unwrap();
    for (column, value, want) in [
        ("seq_len", "", vec!["seq_len"]),
        ("seq_len", "-4096", vec!["seq_len"]),
        ("seq_len", "99999999999999", vec!["seq_len"]),
        ("micro_batch", "0", vec!["micro_batch"]),
        ("micro_batch", "many", vec!["micro_batch"]),
        ("gpus", "-1", vec!["gpus"]),
        ("method", "magic", vec!["method"]),
        ("model", "", vec!["facts"]),
    ] {
        let mut row = good.clone();
        row.insert(column.to_owned(), value.to_owned());
        assert_eq!(training(&row, Catalogue::builtin()), Err(want), "{column} {value}");
    }
    let mut absurd = good.clone();
    absurd.insert("seq_len".to_owned(), "99999999".to_owned());
    absurd.insert("micro_batch".to_owned(), "999999".to_owned());
    assert_eq!(training(&absurd, Catalogue::builtin()), Err(vec!["seq_len", "micro_batch"]));
    let image = rows(IMAGE).remove(0);
    for (column, value, want) in [
        ("model", "a fine-tune", vec!["components"]),
        ("resolution", "-5x5", vec!["resolution"]),
        ("batch", "-1", vec!["batch"]),
        ("dtype", "fp12", vec!["dtype"]),
    ] {
        let mut row = image.clone();
        row.insert(column.to_owned(), value.to_owned());
        let read = image::RowSetup::read(|column| row.get(column).map(String::as_str));
        assert_eq!((read.setup, read.missing), (None, want), "{column} {value}");
    }
}

#[test]
fn parts_add_up_and_bands_hold_their_values() {
    for row in rows(FINETUNE) {
        let read = train::RowSetup::read(|column| row.get(column).map(String::as_str), Catalogue::builtin());
        let Some(setup) = read.setup else { continue };
        let got = train::predict(&setup).unwrap();
        let sum: f64 = got.parts.iter().map(|part| part.bytes.value).sum();
        assert!((sum / got.peak.value - 1.0).abs() < 1e-9, "{}", row["id"]);
        let bands = got.parts.iter().map(|part| part.bytes).chain([got.peak, got.weights]);
        for band in bands {
            assert!(0.0 <= band.low && band.low <= band.value && band.value <= band.high, "{}: {band:?}", row["id"]);
        }
    }
}

#[test]
fn levers_of_training_move_the_peak_the_right_way() {
    let facts = Catalogue::builtin().find("Qwen/Qwen3-8B").unwrap().clone();
    let adapter = train::Method::Adapter { rank: Some(16), targets: Some(train::Targets::ALL), bits16: false };
    let peak = |setup: &train::Setup| train::predict(setup).unwrap().peak.value;
    let full = train::Setup::new(facts.clone(), train::Method::Full, 4096, 2);
    let lora = train::Setup::new(facts.clone(), adapter, 4096, 2);
    let qlora = train::Setup { base: train::Base::Nf4 { double_quant: Some(true) }, ..lora.clone() };
    assert!(peak(&full) > peak(&lora) && peak(&lora) > peak(&qlora));
    let whole = train::Setup { checkpointing: Some(false), ..lora.clone() };
    assert!(peak(&whole) > peak(&lora));
    let linear = train::Setup { loss: train::Loss::Linear, ..lora.clone() };
    assert!(peak(&linear) < peak(&lora));
    let mut last = peak(&full);
    for sharding in [train::Sharding::Zero1, train::Sharding::Zero2, train::Sharding::Zero3] {
        let split = train::Setup { sharding, gpus: 8, ..full.clone() };
        let split_same = train::Setup { master: train::Master::Bits16, ..split };
        assert!(peak(&split_same) < last * 1.01, "{sharding:?}");
        last = peak(&split_same);
    }
    for optimizer in [train::Optimizer::AdamW8bit, train::Optimizer::Adafactor, train::Optimizer::Sgd] {
        let small = train::Setup { optimizer: Some(optimizer), ..full.clone() };
        assert!(peak(&small) < peak(&full), "{optimizer:?}");
    }
}

/// Cells of real rows swapped, cut and doubled by a fixed seed: whatever comes out is a band or a reason.
#[test]
fn mangled_rows_never_break_a_prediction() {
    let (training_rows, image_rows) = (rows(FINETUNE), rows(IMAGE));
    let mut seed = 7_u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let odd = [
        "",
        "-1",
        "0",
        "1e308",
        "NaN",
        "∞",
        "99999999999999999999",
        "4096x",
        "x",
        "\u{0}",
        "yes",
        "liger qlora te 1 and",
    ];
    for _ in 0..10_000 {
        for from in [&training_rows, &image_rows] {
            let mut row = from[next(from.len())].clone();
            let columns: Vec<String> = row.keys().cloned().collect();
            for _ in 0..3 {
                let column = &columns[next(columns.len())];
                let other = &from[next(from.len())][&columns[next(columns.len())]];
                let text = if next(2) == 0 { odd[next(odd.len())].to_owned() } else { other.clone() };
                row.insert(column.clone(), text);
            }
            let cell = |column: &str| row.get(column).map(String::as_str);
            let mut peaks = Vec::new();
            if let Some(setup) = train::RowSetup::read(cell, Catalogue::builtin()).setup {
                peaks.extend(train::predict(&setup).map(|got| got.peak));
            }
            if let Some(setup) = image::RowSetup::read(cell).setup {
                peaks.extend(image::predict(&setup).map(|got| got.peak));
            }
            for peak in peaks {
                assert!(0.0 <= peak.low && peak.low <= peak.value && peak.value <= peak.high && peak.high.is_finite());
            }
        }
    }
}
