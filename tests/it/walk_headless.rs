//! The whole job without a window: a project written by hand, a host probed over a real sshd, an endpoint load-tested,
//! verdicts, and the same numbers whoever opens the folder.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use leasebench::app::App;
use leasebench::app::command::Command as Wish;
use leasebench::domain::evidence::Kind;
use leasebench::engine::files::Places;
use leasebench::project::store;

use super::cli::{leasebench, told};
use super::sshd::Sshd;

/// Written as a person would, in an editor.
const PROJECT: &str = r#"(
    version: 1,
    plan: (
        name: "Walk",
        brief: (
            outcome: "Answer questions about orders",
            model: (name: "practice", parameters: Some(7615616512), layers: Some(28), hidden: Some(3584),
                heads: Some(28), kv_heads: Some(4), head_dim: Some(128)),
            precision: Some(Bf16),
            context_tokens: Some(8192),
            mean_rate: Some(2.6),
            peak_rate: Some(8.0),
            slo: (ttft_p95_ms: Some(500.0), error_share: Some(0.01)),
        ),
        candidates: [
            (
                id: "c1", series: 0, name: "A", short: "8 GPU node",
                promised: (gpu_model: Some("H100"), gpu_count: Some(8)),
                billing: [(id: "b1", category: Accelerator, status: Priced((price: "19.92 USD", per: Hour, quantity: "1")))],
            ),
        ],
        hosts: [(id: "h1", candidate: Some("c1"), name: "gpu-a", reach: Ssh((address: "gpu-a")))],
        criteria: [
            (id: "k1", stage: Environment, metric: gpu_count, comparison: Equals, threshold: Promised),
            (id: "k2", stage: Load, metric: ttft_p95, comparison: AtMost, threshold: Brief, min_samples: 200),
        ],
    ),
)
"#;

/// A practice server in a process of its own. It ends with the test, and by itself in any case.
pub struct Practice {
    child: Child,
    pub url: String,
}

impl Practice {
    pub fn start(home: &Path) -> Self {
        let args = ["practice-server", "--ttft-ms", "20", "--gap-ms", "2", "--tokens", "16", "--ttl-secs", "240"];
        let mut child = leasebench(home, &args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
        Self { child, url }
    }
}

impl Drop for Practice {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What a verb says as JSON, with its exit status.
#[track_caller]
fn json(command: &mut Command) -> (i32, serde_json::Value) {
    let (code, out, err) = told(&command.output().unwrap());
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")))
}

/// Everything that is derived from the project in this folder, as text, through the app.
fn derived(home: &Path, folder: &Path, save_to: Option<&Path>) -> String {
    let mut app = App::with_places(Places::under(home), || {}).unwrap();
    let mut wishes = vec![Wish::Open(folder.to_path_buf())];
    wishes.extend(save_to.map(|to| Wish::SaveAs(to.to_path_buf())));
    for wish in wishes {
        app.command(wish);
        while app.busy() {
            app.wait(Duration::from_millis(100));
        }
    }
    let state = app.state();
    assert!(state.project.is_some());
    format!("{:#?}", state.derived)
}

#[test]
fn from_a_written_brief_to_verdicts() {
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path().join("home");
    let folder = temp.path().join("walk");
    let project = folder.to_str().unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("project.ron"), PROJECT).unwrap();

    // Nothing was seen: nothing passes.
    let (code, shape) = json(&mut leasebench(&home, &["check", project, "--json"]));
    let verdict = |shape: &serde_json::Value, idx: usize| {
        shape["candidates"][0]["criteria"][idx]["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!((code, verdict(&shape, 0), verdict(&shape, 1)), (1, "not_tested".into(), "not_tested".into()));

    // The host's key is unknown; a script is told which it is and must name it.
    let sshd = Sshd::start();
    let config = sshd.setup("", "").config.unwrap();
    let probe = |accept: &[&str]| {
        let mut args =
            vec!["probe", "--host", "gpu-a", "--project", project, "--probes", "gpu_list,gpu_detail", "--json"];
        args.extend(accept);
        let mut command = leasebench(&home, &args);
        command.env("LEASEBENCH_SSH_CONFIG", &config);
        command
    };
    let (code, _, err) = told(&probe(&[]).output().unwrap());
    assert_eq!(code, 2, "{err}");
    let fingerprint = err.split_whitespace().find(|word| word.starts_with("SHA256:")).unwrap().to_owned();
    let (code, _, _) = told(&probe(&["--accept-key", "SHA256:somethingelse"]).output().unwrap());
    assert_eq!(code, 2);
    assert!(store::read(&folder).unwrap().evidence.is_empty());
    let (code, answers) = json(&mut probe(&["--accept-key", &fingerprint]));
    assert_eq!((code, answers["key"]["fingerprint"].as_str()), (0, Some(fingerprint.as_str())));
    assert_eq!(answers["probes"][0]["probe"], "gpu_list");
    assert_eq!(answers["probes"][0]["facts"][0]["device"], "gpu:0");
    assert_eq!(store::read(&folder).unwrap().evidence.len(), 2);

    // A load run against the practice server is kept, and is practice for ever.
    let practice = Practice::start(&home);
    let (code, run) = json(&mut leasebench(
        &home,
        &[
            "load",
            "--url",
            &practice.url,
            "--model",
            "practice",
            "--concurrency",
            "8",
            "--requests",
            "220",
            "--input-tokens",
            "32",
            "--output-tokens",
            "16",
            "--project",
            project,
            "--candidate",
            "A",
            "--json",
        ],
    ));
    assert_eq!((code, &run["requests"]["completed"], &run["outcomes"]["completed"]), (0, &220.into(), &220.into()));
    assert_eq!(run["output_tokens"]["total"], 220 * 16);
    assert!(run["ttft_ms"]["p95"].as_f64().unwrap() >= 20.0);
    assert!(run["ttft_ms"]["p99"].is_null(), "220 samples give no p99");
    let opened = store::read(&folder).unwrap();
    let runs: Vec<_> = opened.evidence.iter().filter(|sealed| sealed.record.load.is_some()).collect();
    assert_eq!(runs.iter().map(|sealed| sealed.record.kind).collect::<Vec<_>>(), [Kind::Practice]);
    assert!(opened.altered.is_empty());

    // The found GPUs keep the promise; practice satisfies nothing.
    let (code, shape) = json(&mut leasebench(&home, &["check", project, "--json"]));
    assert_eq!((code, verdict(&shape, 0), verdict(&shape, 1)), (1, "pass".into(), "not_tested".into()));
    let (code, out, _) = told(&leasebench(&home, &["verify", project]).output().unwrap());
    assert_eq!((code, out.as_str()), (0, "3 records match their id, 0 altered, 0 missing\n"));

    // Whoever opens it, and whoever opens the copy, reads the same numbers.
    let copy = temp.path().join("copy");
    let first = derived(&home, &folder, Some(&copy));
    assert_eq!(derived(&home, &copy, None), first);
    assert!(first.contains("OnlyPractice"), "the cost says why there is none");

    // The report can be handed over: it cites the records and names no address.
    let report = |of: &str, format: &str, lang: &str| {
        let args = ["report", of, "--format", format, "--lang", lang];
        let (code, out, err) = told(&leasebench(&home, &args).output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{format} {lang}");
        out
    };
    let cited: Vec<String> = opened.evidence.iter().map(|sealed| sealed.id.cite()).collect();
    for format in ["html", "md"] {
        for (lang, word) in [("en", "Not tested"), ("zh-Hans", "未测试")] {
            let text = report(project, format, lang);
            assert!(text.contains(word) && text.contains(&cited[0]), "{format} {lang}");
            assert!(!text.contains("127.0.0.1"), "{format} {lang}");
        }
    }
    let csv = report(project, "csv", "en");
    assert_eq!(csv.lines().count(), 2, "a head and one step: {csv}");
    assert_eq!(report(copy.to_str().unwrap(), "csv", "en"), csv);
}
