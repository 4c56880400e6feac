//! Undo and redo: snapshots of the plan, each with the name of the step that led away from it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::edit::{Edit, EditKey, EditStep};
use super::plan::Plan;

/// How many snapshots are kept.
const LIMIT: usize = 100;
/// Edits with the same key within this time are one step.
const TOGETHER: Duration = Duration::from_secs(1);

/// Undo and redo of one project.
#[derive(Debug, Default)]
pub struct History {
    past: VecDeque<(EditStep, Arc<Plan>)>,
    future: Vec<(EditStep, Arc<Plan>)>,
    last: Option<(EditKey, Instant)>,
}

impl History {
    /// Applies an edit and returns the new plan; the old one can be had back.
    pub fn edit(&mut self, plan: &Arc<Plan>, edit: Edit, at: Instant) -> Arc<Plan> {
        let key = edit.key(plan);
        let joins = self
            .last
            .as_ref()
            .is_some_and(|(last, when)| *last == key && at.saturating_duration_since(*when) < TOGETHER)
            && !self.past.is_empty();
        if !joins {
            self.past.push_back((key.step, Arc::clone(plan)));
            if self.past.len() > LIMIT {
                self.past.pop_front();
            }
        }
        self.future.clear();
        self.last = Some((key, at));
        Arc::new(edit.apply(plan))
    }

    /// The plan before the last step, if there is one.
    pub fn undo(&mut self, plan: &Arc<Plan>) -> Option<Arc<Plan>> {
        let (step, before) = self.past.pop_back()?;
        self.future.push((step, Arc::clone(plan)));
        self.last = None;
        Some(before)
    }

    /// The plan after the step that was undone last, if there is one.
    pub fn redo(&mut self, plan: &Arc<Plan>) -> Option<Arc<Plan>> {
        let (step, after) = self.future.pop()?;
        self.past.push_back((step, Arc::clone(plan)));
        self.last = None;
        Some(after)
    }

    /// The step that undo would take back.
    #[must_use]
    pub fn undo_step(&self) -> Option<EditStep> {
        self.past.back().map(|(step, _)| *step)
    }

    /// The step that redo would do again.
    #[must_use]
    pub fn redo_step(&self) -> Option<EditStep> {
        self.future.last().map(|(step, _)| *step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_of_one_field_within_a_second_are_one_step() {
        let mut history = History::default();
        let start = Instant::now();
        let first = Arc::new(Plan::default());
        let a = history.edit(&first, Edit::Rename("a".into()), start);
        let ab = history.edit(&a, Edit::Rename("ab".into()), start + Duration::from_millis(400));
        let later = history.edit(&ab, Edit::Rename("abc".into()), start + Duration::from_secs(3));
        assert_eq!(history.undo(&later).unwrap().name, "ab");
        let back = history.undo(&ab).unwrap();
        assert_eq!(back.name, "");
        assert!(history.undo(&back).is_none());
        assert_eq!(history.redo(&back).unwrap().name, "ab");
    }
}
