//! Notices: things done (they go by themselves) and failures that have no better place (they stay).

use std::time::{Duration, Instant};

use super::App;
use super::state::{Notice, NoticeWhat};

/// How long a toast about something done stays.
const TOAST: Duration = Duration::from_secs(6);
/// The most notices kept; the oldest go first.
const LIMIT: usize = 20;

impl App {
    /// Shows a notice. The same failure twice is shown once.
    pub(super) fn notice(&mut self, what: NoticeWhat) {
        let at = crate::engine::clock::now().mono;
        if let NoticeWhat::Failed(failure) = &what {
            self.state.notices.retain(|other| !matches!(&other.what, NoticeWhat::Failed(same) if same == failure));
        }
        self.state.notices.push_back(Notice { number: self.next_notice, what, at });
        self.next_notice += 1;
        while self.state.notices.len() > LIMIT {
            self.state.notices.pop_front();
        }
        self.engine.wake_after(TOAST);
    }

    /// Takes away toasts whose time is over.
    pub(super) fn expire_notices(&mut self, now: Instant) {
        self.state.notices.retain(|notice| {
            matches!(notice.what, NoticeWhat::Failed(_)) || now.saturating_duration_since(notice.at) < TOAST
        });
    }
}
