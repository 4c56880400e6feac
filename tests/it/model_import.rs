//! A model's own files through the app's two doors: from the typed path to brief and memory setup.

use std::path::Path;
use std::time::Duration;

use leasebench::app::App;
use leasebench::app::command::{Command, Layer};
use leasebench::domain::failure::FailureKind;
use leasebench::domain::memory::source::NoteKind;
use leasebench::engine::files::Places;

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
    assert_eq!((model.layers, model.kv_heads, model.head_dim), (Some(28), Some(4), Some(128)));
    let facts = state.project.as_ref().unwrap().plan.memory.facts.as_ref().unwrap();
    assert_eq!(
        (facts.intermediate, facts.tie_embeddings, facts.origin.as_str()),
        (Some(18_944), Some(false), "config.json")
    );
    assert_eq!(state.view.model_read.as_ref().unwrap().outcome, Ok(vec![]));
    assert_eq!(state.view.layers, []);
    app.command(Command::Undo);
    let plan = &app.state().project.as_ref().unwrap().plan;
    assert_eq!((plan.brief.model.layers, &plan.memory.facts), (None, &None), "one step of undo");
}

/// The header of a safetensors file with one tensor of 16-bit values.
fn safetensors(name: &str, rows: u64, columns: u64) -> Vec<u8> {
    let end = rows * columns * 2;
    let header =
        format!("{{\"{name}\":{{\"dtype\":\"BF16\",\"shape\":[{rows},{columns}],\"data_offsets\":[0,{end}]}}}}");
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(vec![0; usize::try_from(end).unwrap()]);
    bytes
}

#[test]
fn files_of_one_folder_complete_each_other() {
    let home = tempfile::tempdir().unwrap();
    let (config, weights) = (home.path().join("config.json"), home.path().join("model.safetensors"));
    std::fs::write(&config, DENSE).unwrap();
    std::fs::write(&weights, safetensors("model.embed_tokens.weight", 152, 64)).unwrap();
    let mut app = app(home.path());
    for file in [&config, &weights] {
        app.command(Command::ImportModel(file.clone()));
        settle(&mut app);
        assert!(app.state().view.model_read.as_ref().unwrap().outcome.is_ok());
    }
    let facts = app.state().project.as_ref().unwrap().plan.memory.facts.clone().unwrap();
    assert_eq!((facts.layers, facts.hidden), (Some(28), Some(3584)), "the settings stay");
}

#[test]
fn a_bad_file_is_said_in_place_and_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut app = app(home.path());
    let before = app.state().project.as_ref().unwrap().plan.clone();
    let broken = home.path().join("broken.json");
    std::fs::write(&broken, "{\"num_hidden_layers\": ").unwrap();
    let huge = home.path().join("huge.json");
    std::fs::write(&huge, vec![b' '; 6 << 20]).unwrap();
    for (file, kind) in [
        (broken, FailureKind::ModelConfigMalformed),
        (huge, FailureKind::ModelConfigMalformed),
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
    std::fs::write(&file, DENSE.replace("\"vocab_size\": 152064, ", "")).unwrap();
    let mut app = app(home.path());
    app.command(Command::ImportModel(file));
    settle(&mut app);
    let state = app.state();
    let notes = state.view.model_read.as_ref().unwrap().outcome.clone().unwrap();
    assert!(notes.iter().any(|note| note.kind == NoteKind::Lacks && note.what == "vocab"), "{notes:?}");
}
