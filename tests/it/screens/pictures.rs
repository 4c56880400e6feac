//! Every screen of every sample as a picture, for people to look at; `tests/pictures` runs this.

use std::path::{Path, PathBuf};
use std::time::Duration;

use leasebench::app::command::{Command, Layer, Screen, ThemeChoice};
use leasebench::domain::text::Language;

use super::{Setup, TestWindow, copy, looks, window};

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pictures");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// 1440×900, or what the variable says ("1920x1080").
fn size() -> [f32; 2] {
    std::env::var("LEASEBENCH_PICTURE_SIZE")
        .ok()
        .and_then(|size| size.split_once('x').map(|(width, height)| [width.parse().unwrap(), height.parse().unwrap()]))
        .unwrap_or([1440.0, 900.0])
}

fn theme_name(theme: ThemeChoice) -> &'static str {
    if theme == ThemeChoice::Dark { "dark" } else { "light" }
}

pub fn picture(window: &mut TestWindow, name: &str, language: Language, theme: ThemeChoice) {
    window.harness.run_ok();
    let [width, _] = size();
    let wide = if (width - 1440.0).abs() < 1.0 { String::new() } else { format!("-{width}") };
    let path = folder().join(format!("{name}-{}-{}{wide}.png", theme_name(theme), language.tag()));
    window.harness.render().unwrap().save(path).unwrap();
}

/// Folders under `projects/` that hold a project.
fn samples() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("projects")) else {
        return Vec::new();
    };
    let mut samples: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.join("project.ron").is_file()).collect();
    samples.sort();
    samples
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_every_screen() {
    for (language, theme) in looks() {
        let mut start = window(Setup { language, theme, size: size(), ..Setup::default() });
        picture(&mut start, "start", language, theme);
        for sample in samples() {
            let name = sample.file_name().unwrap().to_string_lossy().into_owned();
            // The copy keeps the sample as it is: opening takes a lock and may seal what was interrupted.
            let place = tempfile::tempdir().unwrap();
            copy(&sample, place.path());
            let mut window = window(Setup {
                language,
                theme,
                size: size(),
                commands: vec![Command::Open(place.path().to_path_buf())],
                ..Setup::default()
            });
            window.step_until("the sample", Duration::from_secs(30), |harness| {
                harness.state().app().state().project.is_some()
            });
            for screen in Screen::ALL {
                window.harness.state_mut().app_mut().command(Command::Go(screen));
                picture(&mut window, &format!("{name}-{}", screen.name()), language, theme);
            }
        }
    }
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_the_shell() {
    for (language, theme) in looks() {
        let plan = leasebench::project::plan::Plan {
            name: "Support chat, Q1 rental".into(),
            demonstration: true,
            ..Default::default()
        };
        let mut window = window(Setup { language, theme, size: size(), plan: Some(plan), ..Setup::default() });
        for (name, layer) in [
            ("keys", Layer::Keys),
            ("settings", Layer::Settings),
            ("open", Layer::OpenProject),
            ("palette", Layer::Palette),
        ] {
            window.harness.state_mut().app_mut().command(Command::Show(layer));
            picture(&mut window, &format!("shell-{name}"), language, theme);
            window.harness.state_mut().app_mut().command(Command::CloseTop);
        }
    }
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_every_kind_of_work() {
    use leasebench::domain::memory::{MemoryPlan, MemoryWork, image};
    use leasebench::project::edit::Edit;
    for (language, theme) in looks() {
        let mut window = window(Setup {
            language,
            theme,
            size: [size()[0], 1700.0],
            plan: Some(super::plans::with_candidates()),
            commands: vec![Command::Go(Screen::Memory)],
        });
        for work in MemoryWork::ALL {
            let mut memory = MemoryPlan { work, ..MemoryPlan::default() };
            memory.images.family = image::family_names()[0].to_owned();
            window.harness.state_mut().app_mut().command(Command::Edit(Edit::PutMemory(Box::new(memory))));
            picture(&mut window, &format!("memory-{}", work.key()), language, theme);
        }
    }
}
