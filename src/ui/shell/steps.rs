//! How far each step is, as the rail draws it: the shape of its state and its line in words.

use crate::app::command::Screen;
use crate::app::rail::RailState;
use crate::app::state::State;
use crate::domain::text::Text;
use crate::ui::widgets::Mark;

/// A step's mark and line.
pub(super) fn step(screen: Screen, state: &State, text: &Text) -> (Mark, String) {
    if state.project.is_none() {
        return (Mark::NotTested, empty(screen, text).to_owned());
    }
    let step = state.derived.rail(screen, &state.jobs);
    let mark = match step.state {
        RailState::Empty => Mark::NotTested,
        RailState::Incomplete => Mark::Inconclusive,
        RailState::InProgress => Mark::Running,
        RailState::Done => Mark::Pass,
        RailState::Failing => Mark::Fail,
    };
    (mark, step.line(text))
}

/// The line of a step while no project is open.
fn empty(screen: Screen, text: &Text) -> &str {
    let shell = &text.shell;
    match screen {
        Screen::Brief => &shell.start_here,
        Screen::Memory => &shell.needs_model,
        Screen::Candidates => &shell.none_yet,
        Screen::Hosts => &shell.none_connected,
        Screen::Load => &shell.no_run_yet,
        Screen::Curves | Screen::Cost => &shell.needs_run,
        Screen::Acceptance => &shell.needs_criteria,
        Screen::Decision => &shell.nothing_to_decide,
    }
}

/// What a mark says about a step, for hover and screen readers.
pub(super) fn mark_words(mark: Mark, text: &Text) -> &str {
    match mark {
        Mark::Pass => &text.shell.mark_nothing_open,
        Mark::Fail => &text.shell.mark_blocked,
        Mark::Running => &text.shell.mark_running,
        Mark::NotTested => &text.shell.mark_not_begun,
        Mark::Inconclusive | Mark::Stale | Mark::Waived => &text.shell.mark_needs_you,
    }
}
