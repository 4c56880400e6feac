//! `leasebench cost PROJECT`: what accepted work costs on each candidate, with what is in it and what is not known.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::app::derived::CandidateView;
use crate::domain::candidate::Candidate;
use crate::domain::compare::accepted::{Aside, CandidateCost};
use crate::domain::compare::month::{LineAmount, MonthLine};
use crate::domain::cost::exact_text;
use crate::domain::evidence::Kind;
use crate::domain::failure::Failure;
use crate::domain::figure::{Answer, Gap, GapKind};
use crate::domain::money::{Exact, round_to_places};
use crate::domain::text::{Text, fill};
use crate::engine::clock;

use super::out;
use super::records::{Faults, Looked};

/// Places of an amount; its exact value stands beside it.
const PLACES: u32 = 12;

/// What is computed.
#[derive(Debug, Args)]
pub(super) struct CostArgs {
    /// Project folder.
    project: PathBuf,
    /// Candidate by name or id; all where none is named.
    #[arg(long, value_name = "NAME")]
    candidate: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What scripts read.
#[derive(Serialize)]
struct Shape<'a> {
    project: String,
    demonstration: bool,
    candidates: Vec<CandidateShape<'a>>,
    /// What is wrong with the records.
    #[serde(flatten)]
    faults: &'a Faults,
}

#[derive(Serialize)]
struct CandidateShape<'a> {
    id: &'a str,
    name: &'a str,
    /// Cost of one accepted request.
    #[serde(flatten)]
    cost: AmountShape,
    /// What one unit of `amount` is.
    unit: &'static str,
    per_million_output_tokens: AmountShape,
    /// All units that carry the peak.
    month: AmountShape,
    month_one_unit: AmountShape,
    /// Units that carry the peak together, and the run that says so.
    units: Option<u32>,
    run: Option<RunShape<'a>>,
    components: Vec<ComponentShape<'a>>,
    coverage: CoverageShape<'a>,
    /// What goes on while it is stopped.
    stopped_day: AmountShape,
    /// Views on what is counted already: never to be added.
    diagnostics: Option<BTreeMap<&'static str, String>>,
    /// By how much the month is over the brief's budget; null when it is not, or when that is not known.
    over_budget: Option<String>,
}

/// An amount, or why there is none.
#[derive(Serialize)]
struct AmountShape {
    /// Decimal text of at most 12 places, half-even.
    amount: Option<String>,
    /// The same without rounding: decimal text, or a fraction.
    exact: Option<String>,
    currency: Option<&'static str>,
    /// 95 % interval; null where none can be given, then `why_no_interval` says why.
    interval: Option<[String; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_no_interval: Option<&'static str>,
    /// Reason without an amount, as a word and as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<GapKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_text: Option<String>,
    /// Sum of the priced part where the amount is not known: it will not be less.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<String>,
}

#[derive(Serialize)]
struct RunShape<'a> {
    evidence: &'a str,
    kind: Kind,
    accepted_share: String,
    step_rate: f64,
}

#[derive(Serialize)]
struct ComponentShape<'a> {
    id: &'a str,
    category: &'static str,
    label: &'a str,
    /// priced, once, included, unknown or not_applicable.
    status: &'static str,
    /// A month of one unit; the whole amount where `status` is once.
    amount: Option<String>,
    exact: Option<String>,
    currency: Option<&'static str>,
    /// Why there is no amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    when_stopped: Option<bool>,
}

#[derive(Serialize)]
struct CoverageShape<'a> {
    priced: usize,
    included: usize,
    unknown: usize,
    not_applicable: usize,
    /// What the unknown ones are.
    unknown_names: Vec<&'a str>,
}

/// Exit status 0 when every candidate that is asked for has its cost, 1 when one has not.
pub(super) fn run(args: &CostArgs, text: &Text) -> Result<ExitCode, Failure> {
    let Looked { plan, derived, faults, .. } = Looked::at(&args.project, clock::now().wall, text)?;
    let asked = args.candidate.as_ref().map(|name| super::candidate(&plan, name)).transpose()?;
    let shown: Vec<(&Candidate, &CandidateView)> = derived
        .candidates
        .iter()
        .filter_map(|view| Some((plan.candidate(&view.id)?, view)))
        .filter(|(candidate, _)| asked.is_none_or(|asked| asked.id == candidate.id))
        .collect();
    if args.json {
        out::json(&Shape {
            project: args.project.display().to_string(),
            demonstration: plan.demonstration,
            candidates: shown.iter().map(|(candidate, view)| candidate_shape(candidate, &view.cost, text)).collect(),
            faults: &faults,
        })?;
    } else {
        if plan.demonstration {
            out::line(&text.cli.check_demonstration);
        }
        out::line(&out::visible_lines(&table(&shown, text)));
        for line in faults.lines(text) {
            out::line(&line);
        }
    }
    faults.warn_unsealed(text);
    Ok(ExitCode::from(u8::from(shown.iter().any(|(_, view)| view.cost.per_request.is_err()))))
}

fn candidate_shape<'a>(candidate: &'a Candidate, cost: &'a CandidateCost, text: &Text) -> CandidateShape<'a> {
    let month = &cost.month;
    let carried = cost.carried.as_ref().ok();
    let unknown = month.lines.iter().filter(|line| line.amount == LineAmount::Unknown);
    CandidateShape {
        id: candidate.id.as_str(),
        name: &candidate.name,
        cost: amount(&cost.per_request, text),
        unit: "accepted request",
        per_million_output_tokens: amount(&cost.per_million_tokens, text),
        month: amount(&cost.month_total, text),
        month_one_unit: AmountShape {
            at_least: month.lower_bound.as_ref().map(rounded),
            currency: month.total.as_ref().ok().map(|month| &month.value).or(month.lower_bound.as_ref()).map(code),
            ..amount(&month.total, text)
        },
        units: carried.map(|carried| carried.units),
        run: carried.map(|carried| RunShape {
            evidence: &carried.basis.evidence.0,
            kind: carried.basis.kind,
            accepted_share: carried.share.value.to_string(),
            step_rate: carried.basis.rate,
        }),
        components: month.lines.iter().map(component).collect(),
        coverage: CoverageShape {
            priced: month.coverage.priced,
            included: month.coverage.included,
            unknown: month.coverage.unknown,
            not_applicable: month.coverage.not_applicable,
            unknown_names: unknown.map(name).collect(),
        },
        stopped_day: amount(&month.stopped_day, text),
        diagnostics: carried.map(|carried| {
            let aside = |aside: &Aside| format!("{}{}", aside.text(), aside.unit());
            let asides = &carried.explaining;
            let counts = [
                ("late", &asides.late),
                ("rejected", &asides.rejected),
                ("failed", &asides.failed),
                ("cut", &asides.cut),
                ("sent", &asides.sent),
            ];
            counts
                .into_iter()
                .map(|(name, count)| (name, aside(count)))
                .chain(asides.idle.iter().map(|idle| ("idle", aside(idle))))
                .collect()
        }),
        over_budget: cost.over_budget.as_ref().map(rounded),
    }
}

/// The label of a line, or what it is for.
fn name(line: &MonthLine) -> &str {
    if line.label.trim().is_empty() { line.category.key() } else { &line.label }
}

fn rounded(exact: &Exact) -> String {
    let text = round_to_places(&exact.amount, PLACES);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn code(exact: &Exact) -> &'static str {
    exact.currency.code()
}

fn amount(answer: &Answer<Exact>, text: &Text) -> AmountShape {
    let reason = |gap: &Gap| text.gap(gap);
    match answer {
        Ok(figure) => AmountShape {
            amount: Some(rounded(&figure.value)),
            exact: Some(exact_text(&figure.value.amount)),
            currency: Some(code(&figure.value)),
            interval: figure.interval.as_ref().map(|(low, high)| [rounded(low), rounded(high)]),
            why_no_interval: figure.interval.is_none().then_some(if figure.evidence.is_empty() {
                "nothing in it is measured"
            } else {
                "no upper bound follows"
            }),
            why: None,
            why_text: None,
            at_least: None,
        },
        Err(gap) => AmountShape {
            amount: None,
            exact: None,
            currency: None,
            interval: None,
            why_no_interval: None,
            why: Some(gap.kind),
            why_text: Some(reason(gap)),
            at_least: None,
        },
    }
}

fn component(line: &MonthLine) -> ComponentShape<'_> {
    let (status, amount, why) = match &line.amount {
        LineAmount::Priced(amount) => ("priced", Some(amount), None),
        LineAmount::Unspread(amount) => ("once", Some(amount), Some("no term to spread it over")),
        LineAmount::Included => ("included", None, Some("another line includes it")),
        LineAmount::Unknown => ("unknown", None, Some("nobody said the price")),
        LineAmount::NotApplicable => ("not_applicable", None, Some("it does not exist in this offer")),
    };
    ComponentShape {
        id: line.component.as_str(),
        category: line.category.key(),
        label: &line.label,
        status,
        amount: amount.map(rounded),
        exact: amount.map(|amount| exact_text(&amount.amount)),
        currency: amount.map(code),
        why,
        when_stopped: line.when_stopped,
    }
}

/// A row a candidate: cost of 1,000 accepted requests, month, coverage.
fn table(shown: &[(&Candidate, &CandidateView)], text: &Text) -> String {
    let words = &text.cli;
    let head = [&words.cost_candidate, &words.cost_thousand, &words.cost_month, &words.cost_coverage];
    let money = |answer: &Answer<Exact>, is_work: bool| match answer {
        Ok(figure) => {
            let shown = |exact: &Exact| if is_work { exact.show_significant(4) } else { exact.show() };
            let interval = figure.interval.as_ref().map(|(low, high)| format!(" [{}, {}]", shown(low), shown(high)));
            format!("{}{} {}", shown(&figure.value), interval.unwrap_or_default(), code(&figure.value))
        }
        Err(gap) => text.gap(gap),
    };
    let rows = shown.iter().map(|(candidate, view)| {
        let coverage = &view.cost.month.coverage;
        let counts = [
            ("priced", coverage.priced.to_string()),
            ("included", coverage.included.to_string()),
            ("unknown", coverage.unknown.to_string()),
        ];
        vec![
            candidate.name.clone(),
            money(&view.cost.per_thousand, true),
            money(&view.cost.month_total, false),
            fill(&words.cost_covered, &counts),
        ]
    });
    let all: Vec<Vec<String>> = std::iter::once(head.map(Clone::clone).to_vec()).chain(rows).collect();
    out::columns(&all)
}
