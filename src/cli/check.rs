//! `leasebench check PROJECT`: every criterion's verdict, for scripts that must know whether a candidate is accepted.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::app::derived::{CandidateView, Derived};
use crate::domain::acceptance::judge::Standing;
use crate::domain::acceptance::{Criterion, Judged, Metric, Stage, Verdict, Waiver, show};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::text::{Text, fill};
use crate::engine::clock;
use crate::project::plan::Plan;

use super::out;
use super::records::{Faults, Looked};

/// What is checked.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Project folder.
    project: PathBuf,
    /// Candidate by name or id; the decided or only one where none is named.
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
    /// The candidate that `accepted` is about; null when nobody named, decided or could only mean one.
    judged: Option<&'a str>,
    accepted: bool,
    candidates: Vec<CandidateShape<'a>>,
    /// What is wrong with the records, whatever the verdicts say.
    #[serde(flatten)]
    faults: &'a Faults,
}

#[derive(Serialize)]
struct CandidateShape<'a> {
    id: &'a str,
    name: &'a str,
    overall: Option<&'static str>,
    criteria: Vec<CriterionShape<'a>>,
}

#[derive(Serialize)]
struct CriterionShape<'a> {
    id: &'a str,
    stage: Stage,
    metric: Metric,
    statement: &'a str,
    must_be: String,
    verdict: Verdict,
    why: String,
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    threshold: Option<f64>,
    samples: Option<u64>,
    evidence: Vec<&'a str>,
    waiver: Option<&'a Waiver>,
}

/// Exit status 0 when every criterion of the named, decided or only candidate passes or is waived, else 1.
pub(super) fn run(args: &CheckArgs, text: &Text) -> Result<ExitCode, Failure> {
    let Looked { plan, derived, faults, .. } = Looked::at(&args.project, clock::now().wall, text)?;
    let judged = match &args.candidate {
        Some(name) => Some(named(&plan, &derived, name)?),
        None => derived.decided(&plan),
    };
    let is_accepted = judged.and_then(|view| view.overall.as_ref()).is_some_and(|overall| overall.is_accepted());
    let shown: Vec<&CandidateView> = match judged {
        Some(view) => vec![view],
        None => derived.candidates.iter().collect(),
    };
    if args.json {
        out::json(&Shape {
            project: args.project.display().to_string(),
            demonstration: plan.demonstration,
            judged: judged.map(|view| view.id.as_str()),
            accepted: is_accepted,
            candidates: shown.iter().map(|view| candidate_shape(&plan, view, text)).collect(),
            faults: &faults,
        })?;
    } else {
        if plan.demonstration {
            out::line(&text.cli.check_demonstration);
        }
        for view in shown {
            out::line(&out::visible_lines(&table(&plan, view, text)));
        }
        if judged.is_none() {
            out::line(&text.cli.check_nobody_named);
        }
        for line in faults.lines(text) {
            out::line(&line);
        }
    }
    faults.warn_unsealed(text);
    Ok(ExitCode::from(u8::from(!is_accepted)))
}

/// The candidate with this name or id.
fn named<'a>(plan: &Plan, derived: &'a Derived, name: &str) -> Result<&'a CandidateView, Failure> {
    let candidate = super::candidate(plan, name)?;
    derived.candidate(&candidate.id).ok_or_else(|| Failure::new(FailureKind::Internal))
}

/// Each criterion with what came of it, in the order of the plan.
fn pairs<'a>(plan: &'a Plan, view: &'a CandidateView) -> impl Iterator<Item = (&'a Criterion, &'a Judged)> {
    view.judged
        .iter()
        .filter_map(|judged| Some((plan.criteria.iter().find(|criterion| criterion.id == judged.criterion)?, judged)))
}

fn name_of<'a>(plan: &'a Plan, view: &CandidateView) -> &'a str {
    plan.candidate(&view.id).map_or("", |candidate| &candidate.name)
}

fn candidate_shape<'a>(plan: &'a Plan, view: &'a CandidateView, text: &'a Text) -> CandidateShape<'a> {
    let criteria = pairs(plan, view)
        .map(|(criterion, judged)| CriterionShape {
            id: criterion.id.as_str(),
            stage: criterion.stage,
            metric: criterion.metric,
            statement: show::statement(criterion, text),
            must_be: show::must_be(criterion, judged.threshold, text),
            verdict: judged.verdict,
            why: show::why(judged.verdict, &judged.why, text),
            value: judged.value,
            interval: judged.interval,
            threshold: judged.threshold,
            samples: judged.samples,
            evidence: judged.evidence.iter().map(|id| id.0.as_str()).collect(),
            waiver: judged.waiver.as_ref(),
        })
        .collect();
    CandidateShape {
        id: view.id.as_str(),
        name: name_of(plan, view),
        overall: view.overall.as_ref().map(|overall| overall.worst.word()),
        criteria,
    }
}

/// The verdicts of one candidate as lines.
fn table(plan: &Plan, view: &CandidateView, text: &Text) -> String {
    let mut rows = Vec::new();
    for (criterion, judged) in pairs(plan, view) {
        let value = judged.value.map_or_else(String::new, |value| show::value(criterion.metric, value, text));
        let interval = judged.interval.map_or_else(String::new, |interval| show::interval(criterion.metric, interval));
        let cited: Vec<String> = judged.evidence.iter().take(3).map(crate::domain::ids::EvidenceId::cite).collect();
        rows.push(vec![
            standing_word(Standing::of(judged), text).clone(),
            show::statement(criterion, text).to_owned(),
            show::must_be(criterion, judged.threshold, text),
            format!("{value} {interval}").trim().to_owned(),
            waived_or_why(judged, text),
            cited.join(" "),
        ]);
    }
    let overall =
        view.overall.as_ref().map_or(&text.cli.check_no_criteria, |overall| standing_word(overall.worst, text));
    format!("{}  {}\n{}", name_of(plan, view), overall, out::columns(&rows))
}

fn waived_or_why(judged: &Judged, text: &Text) -> String {
    let why = show::why(judged.verdict, &judged.why, text);
    match (&judged.waiver, judged.verdict) {
        (None, _) | (_, Verdict::Pass) => why,
        (Some(waiver), _) => fill(
            &text.cli.check_waived,
            &[
                ("why", why),
                ("by", waiver.by.clone()),
                ("until", waiver.until.to_string()),
                ("reason", waiver.reason.clone()),
            ],
        ),
    }
}

fn standing_word(standing: Standing, text: &Text) -> &String {
    let common = &text.common;
    match standing {
        Standing::Fail => &common.fail,
        Standing::Inconclusive => &common.inconclusive,
        Standing::Stale => &common.stale,
        Standing::NotTested => &common.not_tested,
        Standing::Waived => &common.waived,
        Standing::Pass => &common.pass,
    }
}
