//! Every step of every run as a row of CSV (RFC 4180). Names of columns hold their unit and do not change with the
//! language; a number that does not exist is an empty cell.

use super::{Compared, Report, escape};
use crate::domain::curve::{StepPoint, Summary};
use crate::domain::evidence::{Kind, Vantage};
use crate::domain::load::{Api, Arrivals, RunEnd, TokenSource};
use crate::domain::seen::Run;

/// What a row is made from.
struct Step<'a> {
    report: &'a Report<'a>,
    compared: &'a Compared<'a>,
    run: &'a Run,
    point: &'a StepPoint,
}

/// How a column is filled.
type Cell = fn(&Step<'_>) -> String;

/// The columns. New ones go to the end; scripts read them by name.
const COLUMNS: [(&str, Cell); 59] = [
    ("project", |step| escape::csv_text(&step.report.plan.name)),
    ("revision", |step| step.report.revision.to_string()),
    ("candidate_id", |step| escape::csv_text(step.compared.candidate.id.as_str())),
    ("candidate", |step| escape::csv_text(&step.compared.candidate.name)),
    ("run", |step| step.run.id.0.clone()),
    ("taken_at", |step| step.run.record.taken_at.to_rfc3339()),
    ("kind", |step| match step.run.kind() {
        Kind::Real => "real".to_owned(),
        Kind::Practice => "practice".to_owned(),
        Kind::Replay => "replay".to_owned(),
    }),
    ("vantage", |step| match step.run.record.vantage {
        Vantage::OnHost => "on_host".to_owned(),
        Vantage::ThisComputer => "this_computer".to_owned(),
        Vantage::Tunnel => "tunnel".to_owned(),
    }),
    ("ended", |step| match step.run.ended {
        RunEnd::Done => "done".to_owned(),
        RunEnd::Stopped => "stopped".to_owned(),
        RunEnd::Interrupted => "interrupted".to_owned(),
    }),
    ("valid", |step| step.run.is_sound().to_string()),
    ("why_invalid", |step| {
        let broken = step.run.validity.iter().filter(|item| !item.ok).map(|item| item.name);
        let ended = (step.run.ended != RunEnd::Done).then(|| step.run.ended.key());
        broken.chain(ended).collect::<Vec<_>>().join(";")
    }),
    ("model", |step| escape::csv_text(&step.run.plan.model)),
    ("api", |step| match step.run.plan.api {
        Api::Chat => "chat".to_owned(),
        Api::Completions => "completions".to_owned(),
    }),
    ("arrivals", |step| match step.point.arrivals {
        Arrivals::Concurrency => "concurrency".to_owned(),
        Arrivals::Constant => "constant".to_owned(),
        Arrivals::Poisson => "poisson".to_owned(),
    }),
    ("seed", |step| step.run.plan.seed.to_string()),
    ("step", |step| (step.point.step_idx + 1).to_string()),
    ("concurrency", |step| level(step, true)),
    ("rate_req_per_s", |step| level(step, false)),
    ("length_s", |step| fixed(Some(step.point.secs), 3)),
    ("requests_asked", |step| step.point.counts.asked.to_string()),
    ("requests_sent", |step| step.point.counts.sent.to_string()),
    ("requests_completed", |step| step.point.counts.completed.to_string()),
    ("requests_failed", |step| step.point.counts.failed.to_string()),
    ("requests_rejected", |step| step.point.counts.rejected.to_string()),
    ("requests_cut", |step| step.point.counts.cut.to_string()),
    ("causes", |step| {
        let causes = step.point.counts.causes.iter().map(|(cause, n)| format!("{cause}={n}"));
        escape::csv_text(&causes.collect::<Vec<_>>().join(";"))
    }),
    ("ttft_n", |step| count(step.point.ttft)),
    ("ttft_mean_ms", |step| ms(step.point.ttft.map(|summary| summary.mean))),
    ("ttft_p50_ms", |step| ms(step.point.ttft.and_then(|summary| summary.p50))),
    ("ttft_p95_ms", |step| ms(step.point.ttft.and_then(|summary| summary.p95))),
    ("ttft_p95_low_ms", |step| ms(low(step.point.ttft))),
    ("ttft_p95_high_ms", |step| ms(high(step.point.ttft))),
    ("ttft_p99_ms", |step| ms(step.point.ttft.and_then(|summary| summary.p99))),
    ("ttfc_n", |step| count(step.point.ttfc)),
    ("ttfc_p50_ms", |step| ms(step.point.ttfc.and_then(|summary| summary.p50))),
    ("ttfc_p95_ms", |step| ms(step.point.ttfc.and_then(|summary| summary.p95))),
    ("ttfc_p99_ms", |step| ms(step.point.ttfc.and_then(|summary| summary.p99))),
    ("gap_n", |step| count(step.point.gap)),
    ("gap_mean_ms", |step| ms(step.point.gap.map(|summary| summary.mean))),
    ("gap_p50_ms", |step| ms(step.point.gap.and_then(|summary| summary.p50))),
    ("gap_p95_ms", |step| ms(step.point.gap.and_then(|summary| summary.p95))),
    ("gap_p99_ms", |step| ms(step.point.gap.and_then(|summary| summary.p99))),
    ("gap_measurable", |step| (!step.point.gap_not_measurable).to_string()),
    ("tpot_p50_ms", |step| ms(step.point.tpot.and_then(|summary| summary.p50))),
    ("tpot_p95_ms", |step| ms(step.point.tpot.and_then(|summary| summary.p95))),
    ("e2el_n", |step| count(step.point.e2el)),
    ("e2el_mean_ms", |step| ms(step.point.e2el.map(|summary| summary.mean))),
    ("e2el_p50_ms", |step| ms(step.point.e2el.and_then(|summary| summary.p50))),
    ("e2el_p95_ms", |step| ms(step.point.e2el.and_then(|summary| summary.p95))),
    ("e2el_p99_ms", |step| ms(step.point.e2el.and_then(|summary| summary.p99))),
    ("input_tokens_mean", |step| fixed(step.point.input_tokens_mean, 1)),
    ("output_tokens", |step| step.point.output_tokens.to_string()),
    ("token_source", |step| match step.point.token_source {
        TokenSource::Usage => "usage".to_owned(),
        TokenSource::Events => "events".to_owned(),
        TokenSource::None => "none".to_owned(),
    }),
    ("output_tokens_per_s", |step| fixed(step.point.output_tokens_per_sec, 3)),
    ("offered_req_per_s", |step| fixed(step.point.offered_per_sec, 4)),
    ("achieved_req_per_s", |step| fixed(step.point.requests_per_sec, 4)),
    ("within_slo", |step| step.point.within_slo.map(|n| n.to_string()).unwrap_or_default()),
    ("goodput_req_per_s", |step| fixed(step.point.goodput_per_sec, 4)),
    ("peak_in_flight", |step| step.point.peak_in_flight.to_string()),
];

/// The steps of every candidate's runs, oldest run first.
#[must_use]
pub fn render(report: &Report<'_>) -> String {
    let head = COLUMNS.map(|(name, _)| name.to_owned()).to_vec();
    let runs = report.candidates.iter().flat_map(|compared| compared.runs.iter().rev().map(move |run| (compared, run)));
    let steps =
        runs.flat_map(|(compared, run)| run.points.iter().map(move |point| Step { report, compared, run, point }));
    written(std::iter::once(head).chain(steps.map(|step| COLUMNS.map(|(_, cell)| cell(&step)).to_vec())))
}

/// Rows of any table, the head first. Texts are kept from being formulas; numbers are cells as they are.
#[must_use]
pub fn table(rows: &[Vec<String>]) -> String {
    let cell = |cell: &String| if cell.parse::<f64>().is_ok() { cell.clone() } else { escape::csv_text(cell) };
    written(rows.iter().map(|row| row.iter().map(cell).collect()))
}

fn written(rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for row in rows {
        // Writing into memory cannot fail.
        writer.write_record(row).ok();
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn level(step: &Step<'_>, is_concurrency: bool) -> String {
    let matches = (step.point.arrivals == Arrivals::Concurrency) == is_concurrency;
    if matches { step.point.level.to_string() } else { String::new() }
}

fn count(summary: Option<Summary>) -> String {
    summary.map_or(0, |summary| summary.n).to_string()
}

fn low(summary: Option<Summary>) -> Option<f64> {
    summary?.p95_interval.map(|(low, _)| low)
}

fn high(summary: Option<Summary>) -> Option<f64> {
    summary?.p95_interval.map(|(_, high)| high)
}

fn ms(secs: Option<f64>) -> String {
    fixed(secs.map(|secs| secs * 1e3), 3)
}

fn fixed(value: Option<f64>, places: usize) -> String {
    value.filter(|value| value.is_finite()).map(|value| format!("{value:.places$}")).unwrap_or_default()
}
