//! The verb `load` against the practice server.

use serde_json::{Value, json};

use super::{Practice, json, load};

/// What a mode must be read as.
struct Case {
    mode: &'static str,
    cause: &'static str,
    /// Output tokens of one request, and who counted them.
    tokens: u64,
    source: &'static str,
    /// Gaps of one request; `None` where they cannot be measured or nothing was complete.
    gaps: Option<u64>,
    /// Whether an answer has visible text.
    has_text: bool,
}

#[test]
fn every_behaviour_ends_by_its_cause_with_its_counts() {
    let case = |mode, cause, tokens, source, gaps, has_text| Case { mode, cause, tokens, source, gaps, has_text };
    let server = Practice::start(&["--ttft-ms", "5", "--gap-ms", "2", "--tokens", "99"]);
    for case in [
        case("plain", "completed", 12, "usage", Some(11), true),
        case("early-role", "completed", 12, "usage", Some(11), true),
        case("merged", "completed", 12, "usage", None, true),
        case("reasoning", "completed", 12, "usage", Some(11), true),
        case("reasoning-content", "completed", 12, "usage", Some(11), true),
        case("tool-calls", "completed", 12, "usage", Some(11), false),
        case("empty-deltas", "completed", 12, "usage", Some(11), true),
        // Without a count the empty finish event of the last token proves nothing, but here it has text.
        case("no-usage", "completed", 12, "events", Some(11), true),
        case("refuse-options", "completed", 12, "usage", Some(11), true),
        case("error-in-stream", "stream_error", 6, "usage", None, false),
        case("cut", "cut_short", 6, "usage", None, false),
        case("no-done", "completed", 12, "usage", Some(11), true),
        case("comments", "completed", 12, "usage", Some(11), true),
        case("crlf", "completed", 12, "usage", Some(11), true),
        case("split-utf8", "completed", 12, "usage", Some(11), true),
        case("status-503", "status_503", 0, "none", None, false),
        case("status-429", "status_429", 0, "none", None, false),
        case("stall", "gap_timeout", 6, "usage", None, false),
        case("slow-drip", "completed", 12, "usage", Some(11), true),
        case("broken-json", "malformed", 6, "usage", None, false),
        case("not-sse", "malformed", 0, "none", None, false),
        case("queue", "completed", 12, "usage", Some(11), true),
    ] {
        for api in ["chat", "completions"] {
            // Tool calls exist in chat only.
            let has_text = case.has_text || (case.mode == "tool-calls" && api == "completions");
            let output = load(
                &server.mode(case.mode),
                &[
                    "--api",
                    api,
                    "--concurrency",
                    "2",
                    "--requests",
                    "4",
                    "--input-tokens",
                    "20",
                    "--output-tokens",
                    "12",
                    "--gap-timeout",
                    "0.4",
                ],
            );
            let name = format!("{} over {api}: {}", case.mode, String::from_utf8_lossy(&output.stderr));
            let shape = json(&output);
            let completes = case.cause == "completed";
            assert_eq!(shape["outcomes"], json!({ case.cause: 4 }), "{name}");
            assert_eq!(
                (&shape["requests"]["asked"], &shape["requests"]["sent"], &shape["requests"]["completed"]),
                (&json!(4), &json!(4), &json!(if completes { 4 } else { 0 })),
                "{name}"
            );
            assert_eq!(shape["output_tokens"], json!({ "total": case.tokens * 4, "source": case.source }), "{name}");
            assert_eq!(shape["gap_ms"]["n"].as_u64(), case.gaps.map(|gaps| gaps * 4), "{name}");
            assert_eq!(shape["ttft_ms"]["n"].as_u64(), completes.then_some(4), "{name}");
            assert_eq!(shape["tpot_ms"]["n"].as_u64(), completes.then_some(4), "{name}");
            assert_eq!(shape["ttfc_ms"]["n"].as_u64(), (completes && has_text).then_some(4), "{name}");
            assert_eq!(shape["ttft_ms"]["p50"], Value::Null, "four samples are no median: {name}");
            assert_eq!(shape["goodput_per_sec"], Value::Null, "no limit is set: {name}");
            assert_eq!(shape["kind"], "Practice", "{name}");
            assert_eq!(output.status.code(), Some(if completes { 0 } else { 1 }), "{name}");
            if case.mode == "refuse-options" {
                assert_eq!(shape["refused_options"], json!(["continuous_usage_stats", "ignore_eos"]), "{name}");
            }
        }
    }
}

#[test]
fn the_role_event_is_no_first_token_and_reasoning_no_visible_text() {
    let server = Practice::start(&["--ttft-ms", "150", "--gap-ms", "10"]);
    let args = ["--concurrency", "1", "--requests", "2", "--output-tokens", "20"];
    let shape = json(&load(&server.mode("early-role"), &args));
    assert!(shape["ttft_ms"]["mean"].as_f64().unwrap() >= 150.0, "{shape}");
    let shape = json(&load(&server.mode("reasoning"), &args));
    let (ttft, ttfc) = (shape["ttft_ms"]["mean"].as_f64().unwrap(), shape["ttfc_ms"]["mean"].as_f64().unwrap());
    assert!(ttft >= 150.0 && ttfc >= 250.0, "ten tokens of reasoning come first: {shape}");
}

#[test]
fn figures_lie_at_or_above_the_servers_own_and_counts_are_equal() {
    let server = Practice::start(&["--ttft-ms", "20", "--gap-ms", "5"]);
    for args in [["--concurrency", "50"], ["--rate", "200"]] {
        server.reset();
        let mut args = args.to_vec();
        args.extend(["--requests", "1000", "--warmup", "3", "--output-tokens", "6", "--slo", "ttft_ms=100000"]);
        let shape = json(&load(&server.url, &args));
        let truth = server.stats();
        assert_eq!(truth["requests"], 1003, "the warm-up is sent and left out: {args:?}");
        assert_eq!(shape["outcomes"], json!({ "completed": 1000 }), "{args:?}");
        assert_eq!(truth["tokens"], 1003 * 6, "{args:?}");
        assert_eq!(shape["output_tokens"], json!({ "total": 6000, "source": "usage" }), "{args:?}");
        assert_eq!(shape["gap_ms"]["n"], 5000, "{args:?}");
        assert_eq!(truth["streams"], 0, "{args:?}");
        // Every request is later here than there, so every rank is; three of the server's are the warm-up's.
        for (rank, name) in [("p50", "median"), ("p99", "99th percentile")] {
            let (here, there) = (shape["ttft_ms"][rank].as_f64().unwrap(), truth["ttft_ms"][rank].as_f64().unwrap());
            assert!(here >= there * 0.99, "{name} of TTFT {here} below the server's {there}: {args:?}");
        }
        assert!(shape["e2el_ms"]["mean"].as_f64().unwrap() > shape["ttft_ms"]["mean"].as_f64().unwrap(), "{shape}");
        assert!(shape["goodput_per_sec"].as_f64().unwrap() > 0.0, "{shape}");
        assert!(shape["client"]["cpu_us_per_token"].as_f64().unwrap() > 0.0, "{shape}");
        let lateness = &shape["client"]["lateness_ms_p99"];
        assert_eq!(lateness.is_null(), args[0] == "--concurrency", "{shape}");
    }
}

#[test]
fn an_open_loop_keeps_its_times_when_the_server_stands_still() {
    // One answer of 100 ms at a time is asked for every 50 ms: the n-th waits n times 50 ms.
    let server = Practice::start(&["--ttft-ms", "100", "--gap-ms", "0", "--mode", "queue"]);
    let args = ["--requests", "40", "--output-tokens", "2", "--arrivals", "constant"];
    let shape = json(&load(&server.url, &[&args[..], &["--rate", "20"]].concat()));
    assert_eq!(shape["requests"]["completed"], 40, "{shape}");
    let mean = shape["e2el_ms"]["mean"].as_f64().unwrap();
    assert!(mean >= 1_000.0, "the wait in the queue is part of every latency: {mean}");
    assert!(server.stats()["requests"] == 40 && shape["peak_in_flight"].as_u64().unwrap() >= 15, "{shape}");
}

#[test]
fn a_closed_loop_of_seconds_ends_and_waits_for_what_is_in_flight() {
    let server = Practice::start(&["--ttft-ms", "30", "--gap-ms", "1"]);
    let shape = json(&load(&server.url, &["--concurrency", "3", "--seconds", "0.5", "--output-tokens", "5"]));
    let requests = &shape["requests"];
    assert!(requests["sent"].as_u64().unwrap() >= 3, "{shape}");
    assert_eq!(requests["sent"], requests["asked"], "{shape}");
    assert_eq!(requests["sent"], requests["completed"], "{shape}");
    assert!(shape["peak_in_flight"].as_u64().unwrap() <= 3, "{shape}");
}

#[test]
fn time_outs_are_told_apart() {
    let server = Practice::start(&["--ttft-ms", "3000", "--gap-ms", "1"]);
    let args = ["--concurrency", "1", "--requests", "1"];
    for (limit, cause) in [("--first-byte-timeout", "first_byte_timeout"), ("--total-timeout", "total_timeout")] {
        let shape = json(&load(&server.url, &[&args[..], &[limit, "0.2"]].concat()));
        assert_eq!(shape["outcomes"], json!({ cause: 1 }));
    }
    // The role event is a byte: what is missing then is the next one.
    let shape = json(&load(&server.mode("early-role"), &[&args[..], &["--gap-timeout", "0.2"]].concat()));
    assert_eq!(shape["outcomes"], json!({ "gap_timeout": 1 }));
}

#[test]
fn answers_are_held_against_the_acceptance_rule() {
    let server = Practice::start(&["--ttft-ms", "1", "--gap-ms", "1"]);
    let args = ["--concurrency", "1", "--requests", "2", "--output-tokens", "12"];
    for (rule, cause) in [
        (["--accept-contains", "quick server"], "completed"),
        (["--accept-contains", "slow server"], "rejected"),
        (["--accept-min-chars", "20"], "completed"),
        (["--accept-min-chars", "2000"], "rejected"),
    ] {
        let output = load(&server.url, &[&args[..], &rule].concat());
        let shape = json(&output);
        assert_eq!(shape["outcomes"], json!({ cause: 2 }), "{rule:?}");
        assert_eq!(shape["requests"][cause], 2, "{rule:?}");
        assert_eq!(shape["ttft_ms"]["n"], 2, "a rejected answer was complete all the same: {rule:?}");
    }
}

#[test]
fn prompts_come_from_a_file() {
    let server = Practice::start(&["--ttft-ms", "1", "--gap-ms", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prompts.jsonl");
    let file = path.to_str().unwrap();
    std::fs::write(
        &path,
        "{\"prompt\":\"one two three\",\"max_tokens\":3}\n{\"messages\":[{\"role\":\"user\",\"content\":\"one\"}]}\n",
    )
    .unwrap();
    let args = ["--concurrency", "1", "--requests", "4", "--output-tokens", "5", "--prompts", file];
    let shape = json(&load(&server.url, &args));
    assert_eq!(shape["output_tokens"]["total"], 3 + 5 + 3 + 5, "{shape}");
    assert_eq!(shape["input_tokens_mean"], 2.0, "{shape}");

    std::fs::write(&path, "{\"prompt\":\"a\"}\n{\"prompt\":").unwrap();
    let output = load(&server.url, &args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
    assert!(stderr.contains("line 2") && stderr.contains("hint:") && stderr.contains(file), "{stderr}");
}

#[test]
fn wrong_use_is_refused_before_anything_is_sent() {
    for (url, args) in [
        ("http://127.0.0.1:9", &["--concurrency", "1"][..]),
        ("http://127.0.0.1:9", &["--concurrency", "1", "--rate", "2", "--requests", "1"]),
        ("http://127.0.0.1:9", &["--concurrency", "0", "--requests", "1"]),
        ("http://127.0.0.1:9", &["--rate", "-1", "--requests", "1"]),
        ("http://127.0.0.1:9", &["--rate", "nan", "--requests", "1"]),
        ("http://127.0.0.1:9", &["--concurrency", "1", "--requests", "0"]),
        ("http://127.0.0.1:9", &["--concurrency", "1", "--seconds", "-1"]),
        ("http://127.0.0.1:9", &["--concurrency", "1", "--requests", "1", "--slo", "speed=1"]),
        ("http://127.0.0.1:9", &["--concurrency", "1", "--requests", "1", "--slo", "ttft_ms=fast"]),
        ("http://127.0.0.1:9", &["--concurrency", "1", "--requests", "1", "--prompts", "/nowhere"]),
        ("http://127.0.0.1:9", &["--concurrency", "1", "--requests", "1", "--api-key-env", "LEASEBENCH_NO_SUCH_KEY"]),
        ("127.0.0.1:9", &["--concurrency", "1", "--requests", "1"]),
        ("http://user:pw@127.0.0.1:9", &["--concurrency", "1", "--requests", "1"]),
    ] {
        let output = load(url, args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{url} {args:?}: {stderr}");
        assert!(!stderr.is_empty() && !stderr.contains("pw"), "{url} {args:?}: {stderr}");
    }
}

#[test]
fn an_option_out_of_range_is_named_with_its_value_and_its_range() {
    for (args, want) in [
        (&["--rate", "0", "--requests", "1"][..], "--rate 0: it must be above 0, and at most 100,000"),
        (&["--rate", "-1", "--requests", "1"], "--rate -1: it must be above 0, and at most 100,000"),
        (&["--rate", "nan", "--requests", "1"], "--rate NaN: it must be above 0, and at most 100,000"),
        (&["--rate", "1000", "--seconds", "604800"], "--seconds 604800: it must be above 0, and at most "),
        (&["--concurrency", "0", "--requests", "1"], "--concurrency 0: it must lie between 1 and 20,000"),
        (&["--concurrency", "1", "--requests", "0"], "--requests 0: it must lie between 1 and "),
        (&["--concurrency", "1", "--requests", "-3"], "--requests -3: it must lie between 1 and "),
        (&["--concurrency", "1", "--seconds", "0"], "--seconds 0: it must be above 0, and at most 604,800"),
        (&["--concurrency", "1", "--requests", "1", "--total-timeout", "0"], "--total-timeout 0: it must be above 0"),
        (&["--concurrency", "1", "--requests", "1", "--gap-timeout", "-0.5"], "--gap-timeout -0.5: it must be above 0"),
        (&["--concurrency", "1", "--requests", "1", "--input-tokens", "0"], "--input-tokens 0: it must lie between 1"),
        (
            &["--concurrency", "1", "--requests", "1", "--output-tokens", "-1"],
            "--output-tokens -1: it must lie between",
        ),
        (&["--concurrency", "1", "--requests", "1", "--warmup", "-1"], "--warmup -1: it must lie between 0 and "),
    ] {
        let output = load("http://127.0.0.1:9", args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {stderr}");
        assert!(stderr.starts_with(&format!("Could not use {want}")), "{args:?}: {stderr}");
    }
}

#[test]
fn an_endpoint_that_is_not_there_is_said_and_counted() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let output = load(&url, &["--concurrency", "2", "--requests", "6"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(json(&output)["outcomes"], json!({ "refused": 6 }));
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("Could not reach the endpoint") && stderr.contains(&url), "{stderr}");
    // A run by time is not spent on nobody.
    let output = load(&url, &["--concurrency", "64", "--seconds", "3600"]);
    let requests = json(&output)["requests"]["failed"].as_u64().unwrap();
    assert!((100..1000).contains(&requests), "{requests}");
}

#[test]
fn each_family_of_status_has_its_own_hint_and_is_said_once() {
    let server = Practice::start(&["--ttft-ms", "1", "--gap-ms", "1"]);
    for (mode, what, hint) in [
        ("status-503", "The server is overloaded or failing: status 503\n", "hint: look at the server's log"),
        (
            "status-429",
            "The endpoint limits how much may be asked: status 429\n",
            "hint: wait as long as its Retry-After",
        ),
    ] {
        let output = load(&server.mode(mode), &["--concurrency", "1", "--requests", "2"]);
        let stderr = of_the_endpoint(&output.stderr);
        assert!(stderr.starts_with(what) && stderr.contains(hint), "{stderr}");
        assert!(!stderr.contains("status_"), "{stderr}");
    }
    for (status, what) in
        [(401, "API key"), (403, "API key"), (404, "model or the path"), (500, "overloaded or failing")]
    {
        let url = super::scripted::status(status);
        let output = load(&url, &["--concurrency", "1", "--requests", "1"]);
        let stderr = of_the_endpoint(&output.stderr);
        let first = stderr.lines().next().unwrap_or_default();
        assert!(first.contains(what) && first.ends_with(&format!("status {status}")), "{stderr}");
    }
}

/// What standard error says of the endpoint: on a busy machine a line before it says that the client fell behind.
fn of_the_endpoint(stderr: &[u8]) -> String {
    let stderr = String::from_utf8_lossy(stderr);
    let lines = stderr.lines().filter(|line| !line.starts_with("This run measured the client"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_figures_are_printed_for_people_too() {
    let server = Practice::start(&["--ttft-ms", "1", "--gap-ms", "1", "--mode", "merged"]);
    let output = std::process::Command::new(super::PROGRAM)
        .args(["load", "--url", &server.url, "--model", "m", "--concurrency", "2", "--requests", "30"])
        .args(["--output-tokens", "8"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("30 requests asked, 30 sent, 30 completed, 0 failed, 0 rejected, 0 cut\n"), "{text}");
    assert!(text.contains("ITL is not measurable: events and tokens do not match"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("TTFT  30")), "{text}");
}
