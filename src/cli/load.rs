//! `leasebench load`: one load run of one step, its figures as text or JSON.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::domain::arrivals::MAX_REQUESTS;
use crate::domain::brief::{AcceptRule, Slo, brief_digest};
use crate::domain::candidate::Candidate;
use crate::domain::curve::{self, StepPoint, Summary};
use crate::domain::evidence::{Kind, Sealed, Vantage};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::format;
use crate::domain::load::{
    Api, Arrivals, LoadPlan, LoadRecord, MAX_CONCURRENCY, MAX_INPUT_TOKENS, MAX_RATE, MAX_SECS, Outcome as Ended,
    Prompts, RequestRecord, StagePlan, Timeouts, TokenSource, Until, ValidityLimits,
};
use crate::domain::secret::Secret;
use crate::domain::text::{Text, fill};
use crate::engine::Engine;
use crate::engine::event::{Outcome, What};
use crate::engine::job::{JobSpec, LoadRoute, LoadSpec, Stamp};
use crate::project::store::{self, EVIDENCE_FOLDER};

use super::{out, records};

/// What is run.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("level").required(true).args(["concurrency", "rate"])))]
#[command(group(clap::ArgGroup::new("until").required(true).args(["requests", "seconds"])))]
pub(super) struct LoadArgs {
    /// Base URL of the endpoint, with or without /v1.
    #[arg(long)]
    url: String,
    /// Model name as it is served.
    #[arg(long)]
    model: String,
    /// Interface.
    #[arg(long, default_value = "chat", value_parser = ["chat", "completions"])]
    api: String,
    /// Closed loop: requests in flight.
    #[arg(long, allow_negative_numbers = true)]
    concurrency: Option<i64>,
    /// Open loop: requests a second.
    #[arg(long, allow_negative_numbers = true)]
    rate: Option<f64>,
    /// Shape of an open loop.
    #[arg(long, default_value = "poisson", value_parser = ["poisson", "constant"])]
    arrivals: String,
    /// Ends after so many requests.
    #[arg(long, allow_negative_numbers = true)]
    requests: Option<i64>,
    /// Sends for so many seconds, then waits for what is in flight.
    #[arg(long, allow_negative_numbers = true)]
    seconds: Option<f64>,
    /// Made prompts: about so many tokens each.
    #[arg(long, default_value_t = 256, allow_negative_numbers = true)]
    input_tokens: i64,
    /// Output tokens asked for.
    #[arg(long, default_value_t = 128, allow_negative_numbers = true)]
    output_tokens: i64,
    /// JSONL file with prompts instead of made ones.
    #[arg(long, value_name = "FILE")]
    prompts: Option<PathBuf>,
    /// Environment variable that holds the API key.
    #[arg(long, value_name = "NAME")]
    api_key_env: Option<String>,
    /// Limits that goodput counts by: ttft_ms, gap_ms, e2el_ms.
    #[arg(long, value_name = "NAME=MS", num_args = 1.., value_parser = limit)]
    slo: Vec<(Limit, f64)>,
    /// A completed answer is accepted only when it holds this text.
    #[arg(long, value_name = "TEXT", conflicts_with = "accept_min_chars")]
    accept_contains: Option<String>,
    /// A completed answer is accepted only with at least so many characters that are not blank.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    accept_min_chars: Option<i64>,
    /// Requests sent before, and left out.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    warmup: i64,
    /// Seed of arrivals and prompts.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Longest wait for a connection, s.
    #[arg(long, default_value_t = Timeouts::default().connect_secs, allow_negative_numbers = true)]
    connect_timeout: f64,
    /// Longest wait for the first byte, s.
    #[arg(long, default_value_t = Timeouts::default().first_byte_secs, allow_negative_numbers = true)]
    first_byte_timeout: f64,
    /// Longest gap between two bytes, s.
    #[arg(long, default_value_t = Timeouts::default().gap_secs, allow_negative_numbers = true)]
    gap_timeout: f64,
    /// Longest time of a whole request, s.
    #[arg(long, default_value_t = Timeouts::default().total_secs, allow_negative_numbers = true)]
    total_timeout: f64,
    /// Keep the run as a record in this project.
    #[arg(long, value_name = "FOLDER")]
    project: Option<PathBuf>,
    /// Candidate of that project the run is about: its name or id.
    #[arg(long, value_name = "NAME", requires = "project")]
    candidate: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A limit that one request can keep or break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Ttft,
    Gap,
    E2el,
}

fn limit(text: &str) -> Result<(Limit, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=MS")?;
    let limit = match name.trim() {
        "ttft_ms" => Limit::Ttft,
        "gap_ms" | "itl_ms" => Limit::Gap,
        "e2el_ms" => Limit::E2el,
        _ => return Err("the limits are ttft_ms, gap_ms and e2el_ms".to_owned()),
    };
    match value.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok((limit, value)),
        _ => Err("the limit is not a number above 0".to_owned()),
    }
}

/// Exit status 0 when at least one request was completed, else 1. Whether the client itself was fit to measure stands
/// in `client.valid`, and on standard error when it was not.
pub(super) fn run(args: &LoadArgs, text: &Text) -> Result<ExitCode, Failure> {
    let about =
        args.project.as_deref().map(|folder| About::read(folder, args.candidate.as_deref(), text)).transpose()?;
    let spec = spec(args, about.as_ref())?;
    if let Some(about) = &about {
        records::take_up(&about.folder, text);
    }
    let (sealed, failure) = ran(spec)?;
    if let Some(about) = &about {
        store::keep(&about.folder, &sealed)?;
        crate::engine::part::remove_kept(&about.folder.join(EVIDENCE_FOLDER), &sealed.id);
        records::list(&about.folder, text);
    }
    let Some(run) = &sealed.record.load else { return Err(Failure::new(FailureKind::Internal)) };
    let points = curve::points(run);
    let Some(point) = points.first() else { return Err(failure.unwrap_or(Failure::new(FailureKind::Internal))) };
    let why = why_invalid(run, text);
    if args.json {
        out::json(&Shape::new(run, point, why.clone()))?;
    } else {
        out::line(&human(run, point, text));
    }
    if let Some(why) = &why {
        out::warning(&fill(&text.cli.load_invalid, &[("why", why.clone())]));
    }
    if let Some(failure) = failure {
        out::failure(text, &failure);
    } else if point.counts.completed == 0
        && let Some(failure) = why_nothing(run, text)
    {
        out::failure(text, &failure);
    }
    Ok(ExitCode::from(u8::from(point.counts.completed == 0)))
}

/// The project a run is kept in.
struct About {
    folder: PathBuf,
    candidate: Option<Candidate>,
    brief: crate::domain::brief::Brief,
}

impl About {
    /// A run of a project with candidates belongs to one of them: a record of nobody would count for nothing.
    fn read(folder: &Path, candidate: Option<&str>, text: &Text) -> Result<Self, Failure> {
        let folder = super::folder_of(folder);
        let plan = store::read_plan_of(&folder)?;
        let candidate = match (candidate, plan.candidates.as_slice()) {
            (Some(wanted), _) => Some(super::candidate(&plan, wanted)?.clone()),
            (None, []) => None,
            (None, [only]) => {
                out::warning(&fill(&text.cli.load_only_candidate, &[("name", only.name.clone())]));
                Some(only.clone())
            }
            (None, _) => {
                return Err(Failure::new(FailureKind::CandidateNeeded)
                    .with("known", super::names(&plan))
                    .at(folder.display()));
            }
        };
        Ok(Self { folder, candidate, brief: plan.brief })
    }
}

/// A whole number of an option, from `low` to `high`.
fn whole(option: &'static str, value: i64, low: u32, high: u32) -> Result<u32, Failure> {
    u32::try_from(value).ok().filter(|value| (low..=high).contains(value)).ok_or_else(|| {
        Failure::new(FailureKind::OptionOutOfRange)
            .with("option", option)
            .with("value", value)
            .with("low", format::count(low.into()))
            .with("high", format::count(high.into()))
    })
}

/// A number of an option, above 0 and up to `high`.
fn positive(option: &'static str, value: f64, high: f64) -> Result<f64, Failure> {
    if value > 0.0 && value <= high {
        return Ok(value);
    }
    let high = format::fixed(high, usize::from(high < 100.0) * 2);
    Err(Failure::new(FailureKind::OptionNotAbove)
        .with("option", option)
        .with("value", value)
        .with("low", 0)
        .with("high", high))
}

fn spec(args: &LoadArgs, about: Option<&About>) -> Result<LoadSpec, Failure> {
    let (arrivals, level) = match (args.concurrency, args.rate) {
        (Some(concurrency), _) => {
            (Arrivals::Concurrency, f64::from(whole("--concurrency", concurrency, 1, MAX_CONCURRENCY)?))
        }
        (None, rate) => {
            let shape = if args.arrivals == "constant" { Arrivals::Constant } else { Arrivals::Poisson };
            (shape, positive("--rate", rate.unwrap_or_default(), MAX_RATE)?)
        }
    };
    let until = match (args.requests, args.seconds) {
        (Some(requests), _) => Until::Requests(whole("--requests", requests, 1, MAX_REQUESTS)?),
        (None, seconds) => {
            // A rate for so long must not ask for more requests than a program can hold.
            let most = match arrivals {
                Arrivals::Concurrency => MAX_SECS,
                Arrivals::Constant | Arrivals::Poisson => (f64::from(MAX_REQUESTS) / level).min(MAX_SECS),
            };
            Until::Secs(positive("--seconds", seconds.unwrap_or_default(), most)?)
        }
    };
    let input_tokens = whole("--input-tokens", args.input_tokens, 1, MAX_INPUT_TOKENS)?;
    let output_tokens = whole("--output-tokens", args.output_tokens, 1, u32::MAX)?;
    let warmup = whole("--warmup", args.warmup, 0, MAX_REQUESTS)?;
    let least_chars = args.accept_min_chars.map(|least| whole("--accept-min-chars", least, 0, u32::MAX)).transpose()?;
    let timeouts = Timeouts {
        connect_secs: positive("--connect-timeout", args.connect_timeout, MAX_SECS)?,
        first_byte_secs: positive("--first-byte-timeout", args.first_byte_timeout, MAX_SECS)?,
        gap_secs: positive("--gap-timeout", args.gap_timeout, MAX_SECS)?,
        total_secs: positive("--total-timeout", args.total_timeout, MAX_SECS)?,
    };
    let prompts = if args.prompts.is_some() {
        Prompts::Jsonl { name: String::new(), sha256: String::new(), n_prompts: 0, output_tokens }
    } else {
        Prompts::Synthetic { input_tokens, output_tokens }
    };
    let acceptance = match (&args.accept_contains, least_chars, about) {
        (Some(wanted), ..) => AcceptRule::Contains(wanted.clone()),
        (None, Some(least), _) => AcceptRule::MinChars(least),
        (None, None, Some(about)) => about.brief.acceptance.clone(),
        (None, None, None) => AcceptRule::NotStated,
    };
    let slo = match about {
        Some(about) if args.slo.is_empty() => about.brief.slo,
        _ => {
            let of = |limit| args.slo.iter().rev().find(|(name, _)| *name == limit).map(|(_, value)| *value);
            Slo {
                ttft_p95_ms: of(Limit::Ttft),
                itl_p95_ms: of(Limit::Gap),
                e2e_p95_ms: of(Limit::E2el),
                ..Slo::default()
            }
        }
    };
    let api_key = args.api_key_env.as_deref().map(key_of).transpose()?;
    Ok(LoadSpec {
        plan: LoadPlan {
            base_url: args.url.clone(),
            model: args.model.clone(),
            api: if args.api == "chat" { Api::Chat } else { Api::Completions },
            prompts,
            arrivals,
            stages: vec![StagePlan { level, until }],
            warmup_requests: warmup,
            timeouts,
            validity: ValidityLimits::default(),
            slo,
            acceptance,
            seed: args.seed,
            api_key_env: args.api_key_env.clone(),
        },
        route: LoadRoute::Direct,
        prompts_path: args.prompts.clone(),
        api_key,
        part_folder: about.map(|about| about.folder.join(EVIDENCE_FOLDER)),
        sample_on: None,
        stamp: Stamp {
            candidate: about.and_then(|about| about.candidate.as_ref()).map(|candidate| candidate.id.clone()),
            host: None,
            kind: Kind::Real,
            brief_digest: about.and_then(|about| brief_digest(&about.brief)),
        },
        vantage: Vantage::ThisComputer,
    })
}

fn key_of(name: &str) -> Result<Secret, Failure> {
    match std::env::var(name) {
        Ok(key) if !key.trim().is_empty() => Ok(Secret::new(key.trim())),
        _ => Err(Failure::new(FailureKind::ApiKeyMissing).with("name", name)),
    }
}

/// Runs it to its end: the record, and what went wrong beside it.
fn ran(spec: LoadSpec) -> Result<(Sealed, Option<Failure>), Failure> {
    let mut engine = Engine::new(|| {}).map_err(|error| Failure::new(FailureKind::Internal).because(error))?;
    let job = engine.start(JobSpec::Load(Box::new(spec)));
    let mut record = None;
    loop {
        match engine.wait(Duration::from_secs(1)) {
            Some(event) if event.job == job => match event.what {
                What::Sealed(sealed) => record = Some(*sealed),
                What::Ended(outcome) => {
                    let failure = match outcome {
                        Outcome::Failed(failure) => Some(failure),
                        Outcome::Done | Outcome::Cancelled => None,
                    };
                    return match record {
                        Some(record) => Ok((record, failure)),
                        None => Err(failure.unwrap_or(Failure::new(FailureKind::Internal))),
                    };
                }
                _ => {}
            },
            _ => {}
        }
    }
}

/// Why the run is invalid, in words; `None` when it is valid.
fn why_invalid(run: &LoadRecord, text: &Text) -> Option<String> {
    let broken: Vec<String> = curve::validity(run)
        .into_iter()
        .filter(|item| !item.ok)
        .map(|item| {
            let value = item.value.map_or_else(|| "?".to_owned(), format::short);
            format!("{} {value} > {}", text.name(item.name), format::short(item.limit))
        })
        .collect();
    (!broken.is_empty()).then(|| broken.join(", "))
}

/// Nothing was completed: the failure that says why in the words of the most frequent cause.
fn why_nothing(run: &LoadRecord, text: &Text) -> Option<Failure> {
    let requests = run.steps.iter().flat_map(|step| &step.requests);
    let mut by_cause: BTreeMap<String, (usize, &RequestRecord)> = BTreeMap::new();
    for request in requests {
        by_cause.entry(request.outcome.cause()).or_insert((0, request)).0 += 1;
    }
    let (cause, (_, request)) = by_cause.into_iter().max_by_key(|(_, (n, _))| *n)?;
    let failure = match request.outcome {
        Ended::Status(status) => Failure::new(of_status(status)).with("status", status),
        Ended::Refused | Ended::ConnectTimeout => Failure::new(FailureKind::EndpointUnreachable),
        _ => Failure::new(FailureKind::NothingCompleted),
    };
    let failure = failure.because(text.cause(&cause)).at(&run.plan.base_url);
    // The server's own words stand below, as they came.
    Some(if request.message.is_empty() { failure } else { failure.raw(&request.message) })
}

/// What a status means for who asked: each family has its own thing to do.
fn of_status(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::EndpointKeyRefused,
        404 => FailureKind::EndpointNotFound,
        429 => FailureKind::EndpointLimited,
        500..=599 => FailureKind::EndpointFailing,
        _ => FailureKind::EndpointStatus,
    }
}

/// The figures for people.
fn human(run: &LoadRecord, point: &StepPoint, text: &Text) -> String {
    let words = &text.cli;
    let counts = &point.counts;
    let total = [
        ("asked", format::count(u64::from(counts.asked))),
        ("sent", format::count(u64::from(counts.sent))),
        ("completed", format::count(u64::from(counts.completed))),
        ("failed", format::count(u64::from(counts.failed))),
        ("rejected", format::count(u64::from(counts.rejected))),
        ("cut", format::count(u64::from(counts.cut))),
    ];
    let mut lines = vec![fill(&words.load_total, &total)];
    lines.extend(counts.causes.iter().map(|(cause, n)| format!("  {cause} {}", format::count(u64::from(*n)))));
    let dash = || "-".to_owned();
    let mut rows = vec![["", "n", "mean", "p50", "p95", "p99"].map(str::to_owned).to_vec()];
    for (name, summary) in
        [("TTFT", point.ttft), ("TTFC", point.ttfc), ("ITL", point.gap), ("TPOT", point.tpot), ("E2EL", point.e2el)]
    {
        let shown = |value: Option<f64>| value.map_or_else(dash, format::latency);
        rows.push(vec![
            name.to_owned(),
            summary.map_or_else(dash, |summary| format::count(summary.n)),
            shown(summary.map(|summary| summary.mean)),
            shown(summary.and_then(|summary| summary.p50)),
            shown(summary.and_then(|summary| summary.p95)),
            shown(summary.and_then(|summary| summary.p99)),
        ]);
    }
    lines.push(out::columns(&rows));
    if point.gap_not_measurable {
        lines.push(words.load_gap_not_measurable.clone());
    }
    let rate = |value: Option<f64>| value.map_or_else(dash, format::short);
    lines.push(fill(
        &words.load_rates,
        &[
            ("requests", rate(point.requests_per_sec)),
            ("goodput", rate(point.goodput_per_sec)),
            ("tokens", rate(point.output_tokens_per_sec)),
        ],
    ));
    if !run.refused_options.is_empty() {
        lines.push(fill(&words.load_refused_options, &[("options", run.refused_options.join(", "))]));
    }
    lines.push(fill(
        &words.load_client,
        &[
            ("cpu", format::short(run.client.cpu_secs)),
            ("per_token", rate(cpu_us_per_token(run, point))),
            ("rss", rate(run.client.rss_mib)),
        ],
    ));
    out::visible_lines(&lines.join("\n"))
}

fn cpu_us_per_token(run: &LoadRecord, point: &StepPoint) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    let tokens = point.output_tokens as f64;
    (tokens > 0.0).then(|| run.client.cpu_secs * 1e6 / tokens)
}

/// What scripts read. Latencies in ms.
#[derive(Serialize)]
struct Shape {
    requests: RequestsShape,
    outcomes: BTreeMap<String, u32>,
    ttft_ms: Option<SummaryShape>,
    ttfc_ms: Option<SummaryShape>,
    gap_ms: Option<SummaryShape>,
    tpot_ms: Option<SummaryShape>,
    e2el_ms: Option<SummaryShape>,
    output_tokens: TokensShape,
    output_tokens_per_sec: Option<f64>,
    requests_per_sec: Option<f64>,
    goodput_per_sec: Option<f64>,
    offered_per_sec: Option<f64>,
    peak_in_flight: u32,
    input_tokens_mean: Option<f64>,
    secs: f64,
    kind: Kind,
    server: String,
    refused_options: Vec<String>,
    client: ClientShape,
}

#[derive(Serialize)]
struct RequestsShape {
    asked: u32,
    sent: u32,
    completed: u32,
    failed: u32,
    rejected: u32,
    cut: u32,
}

#[derive(Serialize)]
struct SummaryShape {
    n: u64,
    mean: f64,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
}

#[derive(Serialize)]
struct TokensShape {
    total: u64,
    source: TokenSource,
}

#[derive(Serialize)]
struct ClientShape {
    valid: bool,
    why: Option<String>,
    cpu_secs: f64,
    cpu_us_per_token: Option<f64>,
    lateness_ms_p99: Option<f64>,
    loop_lag_ms_p99: Option<f64>,
    rss_mib: Option<f64>,
}

impl Shape {
    fn new(run: &LoadRecord, point: &StepPoint, why: Option<String>) -> Self {
        let ms = |summary: Option<Summary>| {
            summary.map(|summary| SummaryShape {
                n: summary.n,
                mean: summary.mean * 1e3,
                p50: summary.p50.map(|secs| secs * 1e3),
                p95: summary.p95.map(|secs| secs * 1e3),
                p99: summary.p99.map(|secs| secs * 1e3),
            })
        };
        let counts = &point.counts;
        Self {
            requests: RequestsShape {
                asked: counts.asked,
                sent: counts.sent,
                completed: counts.completed,
                failed: counts.failed,
                rejected: counts.rejected,
                cut: counts.cut,
            },
            outcomes: counts.causes.clone(),
            ttft_ms: ms(point.ttft),
            ttfc_ms: ms(point.ttfc),
            gap_ms: ms(point.gap),
            tpot_ms: ms(point.tpot),
            e2el_ms: ms(point.e2el),
            output_tokens: TokensShape { total: point.output_tokens, source: point.token_source },
            output_tokens_per_sec: point.output_tokens_per_sec,
            requests_per_sec: point.requests_per_sec,
            goodput_per_sec: point.goodput_per_sec,
            offered_per_sec: point.offered_per_sec,
            peak_in_flight: point.peak_in_flight,
            input_tokens_mean: point.input_tokens_mean,
            secs: point.secs,
            kind: if run.server.starts_with(crate::engine::part::PRACTICE_SERVER) {
                Kind::Practice
            } else {
                Kind::Real
            },
            server: run.server.clone(),
            refused_options: run.refused_options.clone(),
            client: ClientShape {
                valid: why.is_none(),
                why,
                cpu_secs: run.client.cpu_secs,
                cpu_us_per_token: cpu_us_per_token(run, point),
                lateness_ms_p99: run.client.lateness_p99_ms,
                loop_lag_ms_p99: run.client.loop_lag_p99_ms,
                rss_mib: run.client.rss_mib,
            },
        }
    }
}
