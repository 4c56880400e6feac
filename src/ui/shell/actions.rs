//! Every action of the shell with its words, its key and the command it becomes. Keys, palette and the list of keys all
//! read this one list.

use egui::{Key, KeyboardShortcut, Modifiers};

use crate::app::command::{Command, Layer, Screen, ThemeChoice};
use crate::app::state::State;
use crate::domain::text::{Language, Text};

/// What can be done from the palette or by a key, wherever one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Step(Screen),
    Palette,
    New,
    Open,
    Sample,
    Save,
    SaveAs,
    Undo,
    Redo,
    Report,
    Csv,
    Practice,
    Jobs,
    Stop,
    Present,
    Keys,
    Settings,
    Language,
    Theme,
    Larger,
    Smaller,
    NormalSize,
    Close,
    Filter,
    NextPanel,
    PreviousPanel,
    Quit,
}

/// What an action needs before it can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Project,
    Job,
    Undo,
    Redo,
}

impl Action {
    /// Every action, as the palette lists them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Screen::ALL.into_iter().map(Self::Step).chain(Self::REST)
    }

    const REST: [Self; 26] = [
        Self::Palette,
        Self::New,
        Self::Open,
        Self::Sample,
        Self::Save,
        Self::SaveAs,
        Self::Undo,
        Self::Redo,
        Self::Report,
        Self::Csv,
        Self::Practice,
        Self::Jobs,
        Self::Stop,
        Self::Present,
        Self::Keys,
        Self::Settings,
        Self::Language,
        Self::Theme,
        Self::Larger,
        Self::Smaller,
        Self::NormalSize,
        Self::Close,
        Self::Filter,
        Self::NextPanel,
        Self::PreviousPanel,
        Self::Quit,
    ];

    /// Its words.
    pub(super) fn words(self, text: &Text) -> &str {
        let shell = &text.shell;
        match self {
            Self::Step(screen) => step_name(screen, text),
            Self::Palette => &shell.palette,
            Self::New => &shell.cmd_new,
            Self::Open => &shell.cmd_open,
            Self::Sample => &shell.cmd_sample,
            Self::Save => &shell.cmd_save,
            Self::SaveAs => &shell.cmd_save_as,
            Self::Undo => &shell.undo,
            Self::Redo => &shell.redo,
            Self::Report => &shell.cmd_report,
            Self::Csv => &shell.cmd_csv,
            Self::Practice => &shell.cmd_practice,
            Self::Jobs => &shell.cmd_jobs,
            Self::Stop => &shell.stop_and_keep,
            Self::Present => &shell.cmd_present,
            Self::Keys => &shell.cmd_keys,
            Self::Settings => &shell.settings,
            Self::Language => &shell.language,
            Self::Theme => &shell.theme,
            Self::Larger => &shell.text_larger,
            Self::Smaller => &shell.text_smaller,
            Self::NormalSize => &shell.text_normal,
            Self::Close => &shell.cmd_close,
            Self::Filter => &shell.cmd_filter,
            Self::NextPanel => &shell.cmd_next_panel,
            Self::PreviousPanel => &shell.cmd_previous_panel,
            Self::Quit => &shell.cmd_quit,
        }
    }

    /// Its key.
    pub(super) fn key(self) -> Option<KeyboardShortcut> {
        let ctrl = |key| Some(KeyboardShortcut::new(Modifiers::COMMAND, key));
        let shift = |key| Some(KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key));
        let plain = |key| Some(KeyboardShortcut::new(Modifiers::NONE, key));
        match self {
            Self::Step(screen) => ctrl(number_key(screen)),
            Self::Palette => ctrl(Key::K),
            Self::New => ctrl(Key::N),
            Self::Open => ctrl(Key::O),
            Self::Sample => ctrl(Key::T),
            Self::Save => ctrl(Key::S),
            Self::SaveAs => shift(Key::S),
            Self::Undo => ctrl(Key::Z),
            Self::Redo => shift(Key::Z),
            Self::Report => ctrl(Key::R),
            Self::Stop => ctrl(Key::Period),
            Self::Present => plain(Key::F5),
            Self::Keys => plain(Key::F1),
            Self::Larger => ctrl(Key::Plus),
            Self::Smaller => ctrl(Key::Minus),
            Self::NormalSize => ctrl(Key::Num0),
            Self::Close => plain(Key::Escape),
            Self::Filter => ctrl(Key::F),
            Self::NextPanel => plain(Key::F6),
            Self::PreviousPanel => Some(KeyboardShortcut::new(Modifiers::SHIFT, Key::F6)),
            Self::Csv | Self::Practice | Self::Jobs | Self::Settings | Self::Language | Self::Theme | Self::Quit => {
                None
            }
        }
    }

    /// Its key as the window writes it ("Ctrl Shift Z").
    pub(super) fn key_words(self) -> String {
        let Some(key) = self.key() else { return String::new() };
        let mut words = String::new();
        if key.modifiers.command {
            words.push_str("Ctrl ");
        }
        if key.modifiers.shift {
            words.push_str("Shift ");
        }
        words.push_str(match key.logical_key {
            Key::Escape => "Esc",
            Key::Period => ".",
            Key::Plus => "+",
            Key::Minus => "−",
            other => other.name(),
        });
        words
    }

    fn needs(self) -> Needs {
        match self {
            Self::Step(_) | Self::Save | Self::SaveAs | Self::Report | Self::Csv | Self::Practice | Self::Present => {
                Needs::Project
            }
            Self::Stop => Needs::Job,
            Self::Undo => Needs::Undo,
            Self::Redo => Needs::Redo,
            _ => Needs::Nothing,
        }
    }

    /// Why it cannot run now, in words.
    pub(super) fn why_not<'a>(self, state: &State, text: &'a Text) -> Option<&'a str> {
        let project = state.project.as_ref();
        match self.needs() {
            Needs::Project if project.is_none() => Some(&text.shell.needs_project),
            Needs::Job if state.jobs.is_empty() => Some(&text.shell.needs_job),
            Needs::Undo if project.and_then(|project| project.history.undo_step()).is_none() => {
                Some(&text.shell.nothing_to_undo)
            }
            Needs::Redo if project.and_then(|project| project.history.redo_step()).is_none() => {
                Some(&text.shell.nothing_to_redo)
            }
            _ => None,
        }
    }

    /// The commands it becomes; empty for what the window does itself (filter, panels). `dark` is the theme on screen.
    pub(super) fn commands(self, state: &State, dark: bool) -> Vec<Command> {
        let size = state.settings.text_size;
        match self {
            Self::Step(screen) => vec![Command::Go(screen)],
            Self::Palette => vec![Command::Show(Layer::Palette)],
            Self::New => vec![Command::New],
            Self::Open => vec![Command::Show(Layer::OpenProject)],
            Self::Sample => vec![Command::OpenSample],
            Self::Save => vec![Command::Save],
            Self::SaveAs => vec![Command::Show(Layer::SaveAs)],
            Self::Undo => vec![Command::Undo],
            Self::Redo => vec![Command::Redo],
            Self::Report => vec![Command::Show(Layer::Report)],
            Self::Csv => vec![Command::Show(Layer::ExportCsv)],
            Self::Practice => vec![Command::Go(Screen::Load), Command::TryPractice],
            Self::Jobs => vec![Command::Show(Layer::Jobs)],
            Self::Stop => vec![Command::StopNewest],
            Self::Present => vec![Command::Show(Layer::Presentation)],
            Self::Keys => vec![Command::Show(Layer::Keys)],
            Self::Settings => vec![Command::Show(Layer::Settings)],
            Self::Language => vec![Command::Language(other_language(state.settings.language))],
            Self::Theme => vec![Command::Theme(if dark { ThemeChoice::Light } else { ThemeChoice::Dark })],
            Self::Larger => vec![Command::TextSize(size + 0.1)],
            Self::Smaller => vec![Command::TextSize(size - 0.1)],
            Self::NormalSize => vec![Command::TextSize(1.0)],
            Self::Close => vec![Command::CloseTop],
            Self::Quit => vec![Command::Quit],
            Self::Filter | Self::NextPanel | Self::PreviousPanel => Vec::new(),
        }
    }
}

/// The other of the two languages.
pub(super) fn other_language(language: Language) -> Language {
    match language {
        Language::En => Language::ZhHans,
        Language::ZhHans => Language::En,
    }
}

/// The name of a step.
pub(super) fn step_name(screen: Screen, text: &Text) -> &str {
    match screen {
        Screen::Brief => &text.brief.title,
        Screen::Memory => &text.memory.title,
        Screen::Candidates => &text.candidates.title,
        Screen::Hosts => &text.hosts.title,
        Screen::Load => &text.load.title,
        Screen::Curves => &text.curves.title,
        Screen::Cost => &text.cost.title,
        Screen::Acceptance => &text.acceptance.title,
        Screen::Decision => &text.decision.title,
    }
}

/// The number of a step, from 1.
pub(super) fn step_number(screen: Screen) -> usize {
    Screen::ALL.iter().position(|other| *other == screen).map_or(0, |idx| idx + 1)
}

fn number_key(screen: Screen) -> Key {
    const KEYS: [Key; 9] =
        [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9];
    KEYS.get(step_number(screen).saturating_sub(1)).copied().unwrap_or(Key::Num1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_actions_share_a_key_and_all_have_words() {
        let mut keys: Vec<String> = Action::all().map(Action::key_words).filter(|key| !key.is_empty()).collect();
        let n = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), n, "{keys:?}");
        for language in Language::ALL {
            for action in Action::all() {
                assert!(!action.words(Text::of(language)).is_empty(), "{action:?}");
            }
        }
        assert_eq!(Action::Redo.key_words(), "Ctrl Shift Z");
    }
}
