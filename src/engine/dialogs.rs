//! File dialogs, on a thread of their own. Every place that offers one offers a typed path too.

use super::event::{Outcome, Picking};
use super::job::JobCtx;

/// Shows the dialog and reports its answer.
#[cfg(feature = "desktop")]
pub(super) fn pick(ctx: &JobCtx, picking: Picking, suggested: &str) -> Outcome {
    use std::time::{Duration, Instant};

    use crate::domain::failure::{Failure, FailureKind};

    use super::event::What;

    /// Nobody closes a dialog faster; an answer within this time means that none was shown.
    const SHOWN: Duration = Duration::from_millis(150);

    let started = Instant::now();
    let dialog = rfd::FileDialog::new();
    let path = match picking {
        Picking::OpenProject => dialog.pick_folder(),
        Picking::SaveProject => dialog.set_file_name(suggested).pick_folder(),
        Picking::Prompts => dialog.add_filter("JSONL", &["jsonl", "json", "txt"]).pick_file(),
        Picking::ModelConfig => dialog.add_filter("JSON", &["json"]).pick_file(),
        Picking::CapturedOutput | Picking::KeyFile => dialog.pick_file(),
        Picking::Report | Picking::Csv | Picking::Picture => dialog.set_file_name(suggested).save_file(),
    };
    if path.is_none() && started.elapsed() < SHOWN {
        return Outcome::Failed(Failure::new(FailureKind::NoFileDialog));
    }
    ctx.emit_blocking(What::Picked(picking, path));
    Outcome::Done
}

/// Without a desktop there is no dialog; paths are typed.
#[cfg(not(feature = "desktop"))]
pub(super) fn pick(_ctx: &JobCtx, _picking: Picking, _suggested: &str) -> Outcome {
    use crate::domain::failure::{Failure, FailureKind};

    Outcome::Failed(Failure::new(FailureKind::NoFileDialog))
}
