//! The window, pressed and read by accessibility labels, without a window system.

mod brief;
mod candidates;
mod cost;
#[cfg(unix)]
mod fit;
#[cfg(unix)]
mod frames;
mod gallery;
mod hosts;
mod memory;
mod pictures;
pub mod plans;
mod shell;
#[cfg(unix)]
mod walk;

use std::path::Path;
use std::time::{Duration, Instant};

use egui_kittest::Harness;
use leasebench::app::App;
use leasebench::app::command::{Command, Screen, ThemeChoice};
use leasebench::domain::text::Language;
use leasebench::engine::files::Places;
use leasebench::project::edit::Edit;
use leasebench::project::plan::Plan;
use leasebench::ui::shell::Window;
use leasebench::ui::theme;

/// A window in a test: the harness, and the folder its settings and unsaved work go to.
pub struct TestWindow {
    pub harness: Harness<'static, Window>,
    _home: tempfile::TempDir,
}

/// How a window of a test opens.
#[derive(Clone)]
pub struct Setup {
    pub language: Language,
    pub theme: ThemeChoice,
    pub size: [f32; 2],
    /// The plan of the open project; `None` for the start screen.
    pub plan: Option<Plan>,
    /// What happens after that.
    pub commands: Vec<Command>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            language: Language::En,
            theme: ThemeChoice::Light,
            size: [1440.0, 900.0],
            plan: None,
            commands: Vec::new(),
        }
    }
}

/// A window that was drawn once.
pub fn window(setup: Setup) -> TestWindow {
    let home = tempfile::tempdir().unwrap();
    let app = App::with_places(Places::under(home.path()), || {}).unwrap();
    let mut window = Window::new(app);
    window.app_mut().command(Command::Language(setup.language));
    window.app_mut().command(Command::Theme(setup.theme));
    if let Some(plan) = setup.plan {
        window.app_mut().command(Command::New);
        window.app_mut().command(Command::Edit(Edit::PutPlan(Box::new(plan))));
    }
    for command in setup.commands {
        window.app_mut().command(command);
    }
    let mut harness = Harness::builder()
        .with_size(setup.size)
        .with_render_cursor(false)
        .with_max_steps(20)
        .with_context_setup(theme::install)
        .build_ui_state(
            |ui, window: &mut Window| {
                window.logic(ui.ctx());
                // The harness leaves a margin around; a real window has none.
                let room = ui.ctx().content_rect();
                let mut root = ui.new_child(egui::UiBuilder::new().max_rect(room));
                root.set_clip_rect(room);
                window.show(&mut root);
            },
            window,
        );
    harness.run_ok();
    TestWindow { harness, _home: home }
}

impl TestWindow {
    /// Draws until `done` says so, while jobs work in the background.
    #[track_caller]
    pub fn step_until(&mut self, what: &str, timeout: Duration, done: impl Fn(&Harness<'static, Window>) -> bool) {
        let until = Instant::now() + timeout;
        while !done(&self.harness) {
            assert!(Instant::now() < until, "{what} did not come in {timeout:?}");
            self.harness.step();
            std::thread::sleep(Duration::from_millis(10));
        }
        self.harness.run_ok();
    }

    /// The step on screen.
    pub fn screen(&self) -> Screen {
        self.harness.state().app().state().screen
    }
}

/// Both languages with both themes.
pub fn looks() -> impl Iterator<Item = (Language, ThemeChoice)> {
    Language::ALL.into_iter().flat_map(|language| [(language, ThemeChoice::Light), (language, ThemeChoice::Dark)])
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target)
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A window on a copy of the sample project in this folder: opening takes a lock and may seal what was interrupted.
pub fn sample(setup: Setup, folder: &Path) -> TestWindow {
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/support-chat"), folder);
    let mut window = window(Setup { commands: vec![Command::Open(folder.to_owned())], ..setup });
    window.step_until("the project", Duration::from_secs(60), |harness| {
        harness.state().app().state().project.as_ref().is_some_and(|project| !project.evidence.is_empty())
    });
    window
}
