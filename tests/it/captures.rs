//! Every capture through the front door: `leasebench parse … --json`, compared whole.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

/// The captures with the text that says what is read from each.
pub fn captures() -> Vec<(String, PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let mut found = Vec::new();
    for folder in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        let probe = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if leasebench::probe::find(&probe).is_none() {
            continue; // Samples of outside formats, which other tests read.
        }
        for file in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().unwrap() != "want" {
                found.push((probe.clone(), file.clone(), file.with_extension("want")));
            }
        }
    }
    found.sort();
    found
}

fn parse(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_leasebench")).arg("parse").args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (out.status.code().unwrap(), text(&out.stdout), text(&out.stderr))
}

/// The lines of a `.want` file from the JSON that scripts read.
fn lines(json: &Json) -> String {
    let text = |json: &Json, key: &str| json[key].as_str().unwrap().to_owned();
    let mut lines: Vec<String> =
        json.get("absent").map(|absent| absent.as_str().unwrap().to_owned()).into_iter().collect();
    for fact in json["facts"].as_array().unwrap() {
        let (device, key) = (text(fact, "device"), text(fact, "key"));
        if fact.get("absent").is_some() {
            assert_eq!(fact.as_object().unwrap().len(), 3, "{fact}");
            lines.push(format!("{device} {key} ({})", text(fact, "absent")));
            continue;
        }
        assert_eq!(fact.as_object().unwrap().len(), 4, "{fact}");
        let value = match &fact["value"] {
            Json::String(text) => text.clone(),
            Json::Number(n) => n.as_i64().map_or_else(|| n.as_f64().unwrap().to_string(), |n| n.to_string()),
            other => panic!("{other}"),
        };
        lines.push(format!("{device} {key} {value} {}", text(fact, "unit")).trim_end().to_owned());
    }
    for finding in json["findings"].as_array().unwrap() {
        lines.push(format!("{}: {}", text(finding, "severity"), text(finding, "text")));
    }
    lines.join("\n")
}

#[test]
fn parse_reads_every_capture() {
    for (probe, file, want) in captures() {
        let want = std::fs::read_to_string(want).unwrap();
        let (exit, want) = want.split_once('\n').unwrap();
        let exit = exit.strip_prefix("# exit ").unwrap();
        let (code, stdout, stderr) = parse(&[&probe, file.to_str().unwrap(), "--exit", exit, "--json"]);
        let json: Json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{file:?}: {error}\n{stderr}"));
        assert_eq!(json["probe"], probe.as_str());
        assert_eq!(code, i32::from(json.get("absent").is_some()), "{file:?}");
        assert_eq!(lines(&json), want.trim_end(), "{file:?}");
    }
}

#[test]
fn wrong_use_leaves_with_two_and_says_why() {
    let (code, stdout, stderr) = parse(&["gpu_lists", "somewhere.txt", "--json"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("There is no probe \"gpu_lists\"") && stderr.contains("gpu_list, gpu_detail"), "{stderr}");
    let (code, stdout, stderr) = parse(&["gpu_list", "/no/such/file"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.starts_with("Could not read the file") && stderr.contains("/no/such/file"), "{stderr}");
}

#[test]
fn what_lies_behind_the_cap_is_said_to_be_cut() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.txt");
    let line = "GPU 0: NVIDIA L4 (UUID: GPU-8a8fd9b3)\n";
    std::fs::write(&file, line.repeat(200_000)).unwrap();
    let (code, stdout, _) = parse(&["gpu_list", file.to_str().unwrap(), "--json"]);
    let json: Json = serde_json::from_str(&stdout).unwrap();
    assert_eq!(code, 0);
    assert_eq!(
        lines(&json),
        "gpu:0 name NVIDIA L4\ngpu:0 uuid GPU-8a8fd9b3\nnot_judged: The command sent more than 4194304 bytes; what follows in the output was not read"
    );
}
