//! A model's `config.json` through the app's two doors: from the typed path to the brief.

use std::path::Path;
use std::time::Duration;

use leasebench::app::App;
use leasebench::app::command::{Command, Layer};
use leasebench::domain::failure::FailureKind;
use leasebench::engine::files::Places;
use leasebench::wire::model_config::Note;

const DENSE: &str = r#"{"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16"}"#;

fn app(home: &Path) -> App {
    let mut app = App::with_places(Places::under(home), || {}).unwrap();
    app.command(Command::New);
    settle(&mut app);
    app
}

fn settle(app: &mut App) {
    while app.busy() {
        assert!(app.wait(Duration::from_secs(20)), "a job hangs");
    }
}

#[test]
fn facts_of_a_file_reach_the_brief_and_can_be_taken_back() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.json");
    std::fs::write(&file, DENSE).unwrap();
    let mut app = app(home.path());
    app.command(Command::Show(Layer::ImportModel));
    app.command(Command::ImportModel(file.clone()));
    settle(&mut app);
    let state = app.state();
    let model = &state.project.as_ref().unwrap().plan.brief.model;
    assert_eq!((model.parameters, model.layers, model.head_dim), (Some(7_615_616_512), Some(28), Some(128)));
    assert_eq!(state.view.model_read.as_ref().unwrap().outcome, Ok(vec![]));
    assert_eq!(state.view.layers, []);
    app.command(Command::Undo);
    assert_eq!(app.state().project.as_ref().unwrap().plan.brief.model.parameters, None);
}

#[test]
fn a_bad_file_is_said_in_place_and_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut app = app(home.path());
    let before = app.state().project.as_ref().unwrap().plan.clone();
    let broken = home.path().join("broken.json");
    std::fs::write(&broken, "{\"num_hidden_layers\": \"many\"}").unwrap();
    let huge = home.path().join("huge.json");
    std::fs::write(&huge, vec![b' '; 2 << 20]).unwrap();
    for (file, kind) in [
        (broken, FailureKind::ModelConfigMalformed),
        (huge, FailureKind::FileUnreadable),
        (home.path().join("nowhere.json"), FailureKind::FileUnreadable),
    ] {
        app.command(Command::ImportModel(file.clone()));
        settle(&mut app);
        let read = app.state().view.model_read.as_ref().unwrap();
        let failure = read.outcome.as_ref().unwrap_err();
        assert_eq!((failure.kind, failure.at.as_deref()), (kind, file.to_str()), "{}", file.display());
        assert_eq!(app.state().project.as_ref().unwrap().plan, before);
        assert!(app.state().notices.is_empty(), "said twice");
    }
    app.command(Command::DismissModelRead);
    assert_eq!(app.state().view.model_read, None);
}

#[test]
fn what_is_left_to_a_person_is_named() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.json");
    std::fs::write(&file, DENSE.replace("qwen2", "qwen2_moe").replace("28,", "28, \"num_experts\": 60,")).unwrap();
    let mut app = app(home.path());
    app.command(Command::ImportModel(file));
    settle(&mut app);
    let state = app.state();
    assert_eq!(state.view.model_read.as_ref().unwrap().outcome, Ok(vec![Note::Experts]));
    assert_eq!(state.project.as_ref().unwrap().plan.brief.model.parameters, None);
}
