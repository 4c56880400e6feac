//! How far each of the nine steps is, in one line of words and one mark. It says how far the step is, never how good a
//! candidate is.

use crate::domain::acceptance::judge::Standing;
use crate::domain::candidate::Candidate;
use crate::domain::format;
use crate::domain::memory::serve::Verdict;
use crate::domain::text::{Text, fill};
use crate::project::plan::Plan;

use super::command::Screen;
use super::derived::{CandidateView, Derived, passed};

/// One step in the rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RailStep {
    /// Which step.
    pub screen: Screen,
    /// How far it is.
    pub state: RailState,
    /// Name of its line for `Text::name` ("rail_brief").
    line: &'static str,
    values: Vec<(&'static str, String)>,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RailState {
    /// Not begun.
    Empty,
    /// It needs a person.
    Incomplete,
    /// A job runs.
    InProgress,
    /// Nothing is open.
    Done,
    /// Something blocks it.
    Failing,
}

impl RailStep {
    pub(super) fn empty(screen: Screen) -> Self {
        step(screen, RailState::Empty, "rail_nothing", [])
    }

    /// The same step while a job runs.
    #[must_use]
    pub(super) fn running(self) -> Self {
        Self { state: RailState::InProgress, ..self }
    }

    /// Its line in words.
    #[must_use]
    pub fn line(&self, text: &Text) -> String {
        fill(text.name(self.line), &self.values)
    }
}

fn step<const N: usize>(
    screen: Screen,
    state: RailState,
    line: &'static str,
    values: [(&'static str, String); N],
) -> RailStep {
    RailStep { screen, state, line, values: values.into_iter().collect() }
}

/// All nine, in order.
pub(super) fn steps(plan: &Plan, derived: &Derived) -> Vec<RailStep> {
    vec![
        brief(derived),
        memory(plan, derived),
        candidates(derived),
        hosts(derived),
        load(derived),
        curves(derived),
        cost(derived),
        acceptance(plan, derived),
        decision(plan, derived),
    ]
}

fn count(n: usize) -> String {
    format::count(n as u64)
}

fn name_of<'a>(plan: &'a Plan, view: &CandidateView) -> &'a str {
    plan.candidate(&view.id).map_or("", |candidate: &Candidate| &candidate.name)
}

fn brief(derived: &Derived) -> RailStep {
    let gate = &derived.gate;
    let state = match gate.filled {
        0 => RailState::Empty,
        filled if filled < gate.total => RailState::Incomplete,
        _ => RailState::Done,
    };
    step(Screen::Brief, state, "rail_brief", [("filled", count(gate.filled)), ("total", count(gate.total))])
}

fn memory(plan: &Plan, derived: &Derived) -> RailStep {
    let screen = Screen::Memory;
    if derived.candidates.is_empty() {
        return step(screen, RailState::Empty, "rail_needs_candidate", []);
    }
    let fits = |view: &&CandidateView| view.memory.as_ref().is_ok_and(|figure| figure.value.fits());
    if let Some(view) = derived.candidates.iter().find(|view| view.memory.is_ok() && !fits(view)) {
        let is_close = view.memory.as_ref().is_ok_and(|figure| figure.value.verdict == Some(Verdict::TooClose));
        let line = if is_close { "rail_memory_close" } else { "rail_memory_short" };
        return step(screen, RailState::Incomplete, line, [("name", name_of(plan, view).to_owned())]);
    }
    let n_open = derived.candidates.iter().filter(|view| view.memory.is_err()).count();
    match (n_open, derived.candidates.len()) {
        (0, n) => step(screen, RailState::Done, "rail_memory_fits", [("n", count(n))]),
        (open, n) if open == n => step(screen, RailState::Empty, "rail_memory_needs_model", []),
        (open, _) => step(screen, RailState::Incomplete, "rail_memory_open", [("n", count(open))]),
    }
}

fn candidates(derived: &Derived) -> RailStep {
    let screen = Screen::Candidates;
    let n_open: usize = derived.candidates.iter().map(|view| view.questions.len()).sum();
    match (derived.candidates.len(), n_open) {
        (0, _) => step(screen, RailState::Empty, "rail_no_offers", []),
        (n, 0) => step(screen, RailState::Done, "rail_candidates", [("n", count(n))]),
        (_, open) => step(screen, RailState::Incomplete, "rail_not_stated", [("n", count(open))]),
    }
}

fn hosts(derived: &Derived) -> RailStep {
    let screen = Screen::Hosts;
    let n_silent = derived.hosts.iter().filter(|host| host.latest.is_empty()).count();
    let n_mismatches: usize = derived.hosts.iter().map(|host| host.n_mismatches).sum();
    let n_differing = derived.hosts.iter().filter(|host| host.n_mismatches > 0).count();
    match (derived.hosts.len(), n_silent, n_mismatches) {
        (0, ..) => step(screen, RailState::Empty, "rail_no_hosts", []),
        (n, silent, _) if silent == n => step(screen, RailState::Empty, "rail_hosts_silent", [("n", count(n))]),
        (n, 0, 0) => step(screen, RailState::Done, "rail_hosts_match", [("n", count(n))]),
        (_, silent, 0) => step(screen, RailState::Incomplete, "rail_hosts_silent", [("n", count(silent))]),
        (_, _, mismatches) => step(
            screen,
            RailState::Incomplete,
            "rail_mismatches",
            [("n", count(mismatches)), ("hosts", count(n_differing))],
        ),
    }
}

fn load(derived: &Derived) -> RailStep {
    let n_valid = derived.runs.iter().filter(|run| run.is_sound()).count();
    let n_unfinished = derived.runs.iter().filter(|run| run.is_valid() && !run.is_sound()).count();
    let n_invalid = derived.runs.len() - n_valid - n_unfinished;
    let state = match (derived.runs.len(), n_valid) {
        (0, _) => return step(Screen::Load, RailState::Empty, "rail_no_run", []),
        (_, 0) => RailState::Incomplete,
        _ => RailState::Done,
    };
    let line = if n_unfinished == 0 { "rail_runs" } else { "rail_runs_unfinished" };
    let values = [("valid", count(n_valid)), ("invalid", count(n_invalid)), ("unfinished", count(n_unfinished))];
    step(Screen::Load, state, line, values)
}

fn curves(derived: &Derived) -> RailStep {
    let n_steps: usize = derived.runs.iter().map(|run| run.points.len()).sum();
    match n_steps {
        0 => step(Screen::Curves, RailState::Empty, "rail_needs_run", []),
        n => step(Screen::Curves, RailState::Done, "rail_steps", [("n", count(n))]),
    }
}

fn cost(derived: &Derived) -> RailStep {
    let screen = Screen::Cost;
    let n = derived.candidates.len();
    let n_priced = derived.candidates.iter().filter(|view| view.cost.month.total.is_ok()).count();
    let n_costed = derived.candidates.iter().filter(|view| view.cost.per_request.is_ok()).count();
    let n_unknown: usize = derived.candidates.iter().map(|view| view.cost.month.coverage.unknown).sum();
    match (n, n_priced, n_costed) {
        (0, ..) => step(screen, RailState::Empty, "rail_needs_candidate", []),
        (_, 0, _) => step(screen, RailState::Empty, "rail_needs_price", []),
        (_, _, 0) => step(screen, RailState::Empty, "rail_needs_run", []),
        (n, priced, costed) => {
            let state = if costed == n { RailState::Done } else { RailState::Incomplete };
            step(screen, state, "rail_cost", [("n", count(priced)), ("unknown", count(n_unknown))])
        }
    }
}

fn acceptance(plan: &Plan, derived: &Derived) -> RailStep {
    let screen = Screen::Acceptance;
    if derived.n_altered > 0 {
        return step(screen, RailState::Failing, "rail_altered", [("n", count(derived.n_altered))]);
    }
    let n_criteria = plan.criteria.len();
    if n_criteria == 0 {
        return step(screen, RailState::Empty, "rail_no_criteria", []);
    }
    // The candidate that is decided on, else the one with the most passes.
    let best = derived.decided(plan).or_else(|| {
        derived.candidates.iter().max_by_key(|view| view.overall.as_ref().map_or(0, |overall| passed(overall).0))
    });
    let Some((view, overall)) = best.and_then(|view| Some((view, view.overall.as_ref()?))) else {
        return step(screen, RailState::Empty, "rail_needs_candidate", []);
    };
    let (n_passed, total) = passed(overall);
    if overall.count(Standing::NotTested) == total {
        return step(screen, RailState::Empty, "rail_none_tested", [("n", count(n_criteria))]);
    }
    let state = if overall.is_accepted() { RailState::Done } else { RailState::Incomplete };
    let name = name_of(plan, view).to_owned();
    step(screen, state, "rail_passed", [("name", name), ("passed", count(n_passed)), ("total", count(total))])
}

fn decision(plan: &Plan, derived: &Derived) -> RailStep {
    let screen = Screen::Decision;
    let view = &derived.decision;
    match (plan.decision.action, view.n_signed, view.n_outdated) {
        (None, ..) => step(screen, RailState::Empty, "rail_undecided", []),
        (Some(_), 0, _) => step(screen, RailState::Incomplete, "rail_draft", []),
        (Some(_), n, 0) => step(screen, RailState::Done, "rail_signed", [("n", count(n))]),
        (Some(_), _, outdated) => step(screen, RailState::Failing, "rail_outdated", [("n", count(outdated))]),
    }
}
