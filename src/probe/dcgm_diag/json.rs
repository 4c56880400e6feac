//! The JSON of `dcgmi diag -j`, to 3.3 ("DCGM GPU Diagnostic") and from 4.0 on ("DCGM Diagnostic").

use serde_json::Value as Json;

use super::{Message, Run, Test, TestResult};
use crate::domain::facts::{Absent, AbsentKind};
use crate::probe::words;

/// Reads the JSON in the text, with whatever stands before and after it. `None` when there is none.
///
/// # Errors
/// `CutShort` when it breaks off, `NotRun` when the tool itself failed.
pub(super) fn read(text: &str) -> Option<Result<Run, Absent>> {
    let start = text.char_indices().filter(|(_, c)| *c == '{').map(|(at, _)| at).find(|at| {
        text.get(at + 1..).is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.starts_with('"') || rest.starts_with('}')
        })
    })?;
    let mut stream = serde_json::Deserializer::from_str(text.get(start..)?).into_iter::<Json>();
    match stream.next()? {
        Ok(root) => Some(run(&root)),
        Err(error) if error.is_eof() => Some(Err(Absent::new(AbsentKind::CutShort, error.to_string()))),
        Err(error) => Some(Err(Absent::new(AbsentKind::Unreadable, error.to_string()))),
    }
}

fn run(root: &Json) -> Result<Run, Absent> {
    let Some(body) = root.get("DCGM Diagnostic").or_else(|| root.get("DCGM GPU Diagnostic")) else {
        return Err(Absent::new(AbsentKind::Unreadable, "JSON without \"DCGM Diagnostic\""));
    };
    let metadata = root.get("metadata");
    let mut run = Run { complete: true, ..Run::default() };
    run.dcgm_version = text_of(metadata, "version").or_else(|| text_of(Some(body), "version"));
    run.driver_version =
        text_of(metadata, "Driver Version Detected").or_else(|| text_of(Some(body), "Driver Version Detected"));
    run.n_devices = n_devices(root, body);
    for category in list(body, "test_categories") {
        let name = text_of(Some(category), "category").unwrap_or_default().to_lowercase();
        run.tests.extend(list(category, "tests").iter().take(500).map(|json| test(json, &name)));
    }
    if run.tests.is_empty() {
        let error = ["runtime_error", "error", "Error", "Warning", "warning"]
            .iter()
            .find_map(|key| text_of(Some(body), key))
            .unwrap_or_else(|| "no test in the answer".to_owned());
        return Err(Absent::new(AbsentKind::NotRun, words::tidy(&error, 300)));
    }
    Ok(run)
}

fn test(json: &Json, category: &str) -> Test {
    let results = list(json, "results");
    let summary = json.get("test_summary");
    let statuses = results.iter().filter_map(|result| TestResult::read(result.get("status")?.as_str()?));
    let summed = summary.and_then(|summary| TestResult::read(summary.get("status")?.as_str()?));
    let mut messages = Vec::new();
    for result in results {
        add_messages(&mut messages, result, entity(result));
    }
    // The summary repeats the warnings of the results.
    if let Some(summary) = summary
        && messages.iter().all(|message| message.info)
    {
        add_messages(&mut messages, summary, None);
    }
    Test {
        name: text_of(Some(json), "name").unwrap_or_else(|| "unnamed".to_owned()),
        category: category.to_owned(),
        result: summed.or_else(|| statuses.min()),
        messages,
    }
}

/// `GPU 3`, where a result says which entity it is about: `entity_id` in 4.x, `gpu_id` (a text) before.
fn entity(result: &Json) -> Option<String> {
    let number = |key: &str| {
        let value = result.get(key)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    };
    if let Some(id) = number("entity_id") {
        let group = text_of(Some(result), "entity_group").unwrap_or_else(|| "GPU".to_owned());
        return Some(format!("{group} {id}"));
    }
    number("gpu_id").map(|id| format!("GPU {id}"))
}

/// Warnings as objects with numbers, as a list of texts, or as one text; infos likewise.
fn add_messages(messages: &mut Vec<Message>, json: &Json, entity: Option<String>) {
    for (key, info) in [("warnings", false), ("warning", false), ("info", true)] {
        let Some(value) = json.get(key) else { continue };
        let one = std::slice::from_ref(value);
        for item in value.as_array().map_or(one, Vec::as_slice).iter().take(100) {
            let text = item.as_str().or_else(|| item.get("warning")?.as_str()).or_else(|| item.get("info")?.as_str());
            let Some(text) = text else { continue };
            let named = entity.as_ref().filter(|entity| !text.contains(entity.as_str()));
            let text = named.map_or_else(|| text.to_owned(), |entity| format!("{entity}: {text}"));
            let message = Message { text, severity: item.get("error_severity").and_then(Json::as_i64), info };
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
    }
}

fn n_devices(root: &Json, body: &Json) -> Option<usize> {
    if let Some(groups) = root.get("entity_groups").and_then(Json::as_array) {
        let gpus = groups.iter().filter(|group| group.get("entity_group").and_then(Json::as_str) == Some("GPU"));
        return Some(gpus.map(|group| list(group, "entities").len()).sum());
    }
    let ids = body.get("GPU Device IDs Detected").or_else(|| root.get("metadata")?.get("GPU Device IDs Detected"))?;
    match ids {
        Json::Array(ids) => Some(ids.len()),
        Json::String(ids) => Some(ids.split(',').filter(|id| !id.trim().is_empty()).count()),
        _ => None,
    }
}

fn list<'a>(json: &'a Json, key: &str) -> &'a [Json] {
    json.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn text_of(json: Option<&Json>, key: &str) -> Option<String> {
    Some(json?.get(key)?.as_str()?.to_owned())
}
