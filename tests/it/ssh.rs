//! Hosts over SSH, through the front door of the engine, against a real sshd.

use std::path::Path;
use std::time::{Duration, Instant};

use leasebench::domain::evidence::{CommandEnd, Kind, Record, Source, Vantage};
use leasebench::domain::facts::AbsentKind;
use leasebench::domain::failure::{Failure, FailureKind};
use leasebench::domain::host::{Auth, Host, KeyPin, Reach, SshTarget};
use leasebench::domain::ids::{CandidateId, EvidenceId, HostId};
use leasebench::domain::secret::Secret;
use leasebench::domain::text::{Language, Text};
use leasebench::engine::Engine;
use leasebench::engine::event::{Outcome, Question, Reply, What};
use leasebench::engine::host::{Setup, Tunnel, spawn_sampler};
use leasebench::engine::job::{JobSpec, OutputSource, Stamp};
use leasebench::probe;
use tokio_util::sync::CancellationToken;

use crate::sshd::{Sshd, host};

/// The most a job of these tests may take; it is not measured, only not waited for for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a job did.
#[derive(Debug, Default)]
struct Done {
    records: Vec<Record>,
    connected: Vec<(KeyPin, bool, String)>,
    asked: Vec<Question>,
    aliases: Vec<String>,
    outcome: Option<Outcome>,
}

impl Done {
    #[track_caller]
    fn failure(&self) -> &Failure {
        match &self.outcome {
            Some(Outcome::Failed(failure)) => failure,
            other => panic!("{other:?}"),
        }
    }
}

fn stamp() -> Stamp {
    Stamp {
        candidate: Some(CandidateId("c1".into())),
        host: Some(HostId("h1".into())),
        kind: Kind::Real,
        brief_digest: Some("d".into()),
    }
}

/// Runs a job to its end. `answer` sees every question.
#[track_caller]
fn run(setup: &Setup, spec: JobSpec, mut answer: impl FnMut(&Question) -> Reply) -> Done {
    run_until(setup, spec, &mut answer, |_, _, _| {})
}

#[track_caller]
fn run_until(
    setup: &Setup,
    spec: JobSpec,
    answer: &mut dyn FnMut(&Question) -> Reply,
    mut watch: impl FnMut(&Engine, leasebench::domain::ids::JobId, &Done),
) -> Done {
    let mut engine = Engine::new(|| {}).unwrap();
    engine.set_ssh(setup.clone());
    let job = engine.start(spec);
    let mut done = Done::default();
    let until = Instant::now() + PATIENCE;
    while done.outcome.is_none() {
        assert!(Instant::now() < until, "the job does not end: {done:?}");
        watch(&engine, job, &done);
        let Some(event) = engine.wait(Duration::from_millis(20)) else { continue };
        match event.what {
            What::Sealed(sealed) => {
                assert_eq!(sealed.id, EvidenceId::of(&sealed.bytes));
                let read: Record = ron::de::from_bytes(&sealed.bytes).unwrap();
                assert_eq!(read, *sealed.record);
                done.records.push(read);
            }
            What::Connected { key, newly_accepted, line, .. } => done.connected.push((key, newly_accepted, line)),
            What::SshAliases(aliases) => done.aliases = aliases,
            What::Asked(question) => {
                engine.answer(job, answer(&question));
                done.asked.push(question);
            }
            What::Ended(outcome) => done.outcome = Some(outcome),
            other => panic!("{other:?}"),
        }
    }
    done
}

/// Asks `gpu-a` some probes; every question is a failure of the test.
#[track_caller]
fn probe(setup: &Setup, host: Host, probes: &[&'static str]) -> Done {
    run(setup, spec(host, probes), |question| panic!("asked {question:?}"))
}

fn spec(host: Host, probes: &[&'static str]) -> JobSpec {
    JobSpec::Probe { host: Box::new(host), probes: probes.to_vec(), stamp: stamp() }
}

fn auto() -> Host {
    host("gpu-a", Auth::Auto)
}

fn fact(record: &Record, device: &str, key: &str) -> String {
    let found = record.facts.iter().find(|fact| fact.device.0 == device && fact.key.0 == key);
    found.map_or("none".into(), |fact| match &fact.value {
        Ok(value) => value.to_string(),
        Err(absent) => absent.to_string(),
    })
}

/// The fingerprint that `ssh-keygen` shows.
fn fingerprint(file: &Path) -> String {
    let out = std::process::Command::new("ssh-keygen").arg("-lf").arg(file).output().unwrap();
    String::from_utf8(out.stdout).unwrap().split(' ').nth(1).unwrap().to_owned()
}

fn ed25519_line(sshd: &Sshd, name: &str) -> String {
    let text = std::fs::read_to_string(sshd.path(name)).unwrap();
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_walk_through_every_probe_gives_sealed_records() {
    let sshd = Sshd::start();
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let ids: Vec<&'static str> = probe::ALL.iter().map(|probe| probe.id).collect();
    let done = probe(&setup, auto(), &ids);
    assert_eq!(done.outcome, Some(Outcome::Done));
    let sources: Vec<&str> = done
        .records
        .iter()
        .map(|record| match &record.source {
            Source::Probe { id, .. } => id.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sources, ids);
    let absent: Vec<&str> =
        sources.iter().zip(&done.records).filter(|(_, r)| r.absent.is_some()).map(|(id, _)| *id).collect();
    let unanswered: Vec<&&str> = absent.iter().filter(|id| probe::DEFAULT.contains(id)).collect();
    assert!(unanswered.is_empty(), "the fixture answers every default probe but {unanswered:?}");
    for record in &done.records {
        assert_eq!((record.kind, record.vantage, &record.candidate), (Kind::Real, Vantage::OnHost, &stamp().candidate));
        let captured = record.captured.as_ref().unwrap();
        assert_eq!((captured.pollution.as_str(), captured.masked.len()), ("", 0));
    }
    let of = |id: &str| &done.records[ids.iter().position(|other| *other == id).unwrap()];
    for (id, device, key, want) in [
        ("os", "host", "os", "Ubuntu 22.04.5 LTS"),
        ("os", "host", "host_name", "gpu-a"),
        ("cpu", "cpu", "cpus", "208"),
        ("memory", "host", "memory_total", "2063880.6015625"),
        ("disks", "disk:nvme3n1", "size", "7681501126656"),
        ("filesystems", "fs:/", "free", "846225141760"),
        ("network", "nic:eth0", "ipv4", "192.0.2.17"),
        ("network", "nic:eth0", "ipv6", "2001:db8::17"),
        ("gpu_list", "gpu:7", "name", "NVIDIA H100 80GB HBM3"),
        ("topology", "link:gpu:0-gpu:1", "connection", "NV18"),
        ("topology", "link:gpu:0-nic:mlx5_0", "connection", "SYS"),
        ("dcgm_discovery", "gpu:7", "uuid", "GPU-8e1a20d3-df36-4082-198b-7b1001a9fe30"),
        ("dcgm_diag", "test:persistence_mode", "result", "pass"),
    ] {
        assert_eq!(fact(of(id), device, key), want, "{id} {device} {key}\n{:?}", probe::lines(&of(id).facts, &[]));
    }
    // The server runs on this computer, so its clock is ours within the round trip.
    let secs = |key: &str| fact(of("clock"), "host", key).parse::<f64>().unwrap();
    assert!(secs("clock_offset").abs() <= secs("clock_offset_uncertainty"), "{}", secs("clock_offset"));
    assert_eq!(fact(of("gpu_list"), "gpu:7", "uuid"), fact(of("gpu_detail"), "gpu:7", "uuid"));
    assert_eq!(fact(of("gpu_detail"), "host", "driver_version"), "570.86.15");
    assert_eq!(fact(of("gpu_detail"), "gpu:0", "memory_total"), "81559");
    let (key, newly_accepted, line) = &done.connected[0];
    assert_eq!((key.key_type.as_str(), *newly_accepted), ("ssh-ed25519", false));
    assert_eq!(key.fingerprint, fingerprint(&sshd.path("host_ed25519.pub")));
    assert!(line.starts_with("SSH-2.0-OpenSSH"), "{line}");
}

#[test]
fn an_unknown_key_is_asked_about_refused_or_pinned() {
    let sshd = Sshd::start();
    let setup = sshd.setup("", "");
    let found = fingerprint(&sshd.path("host_ed25519.pub"));
    let pin = KeyPin { key_type: "ssh-ed25519".into(), fingerprint: found.clone() };
    let place = format!("127.0.0.1:{}", sshd.port());

    let refused = run(&setup, spec(auto(), &["gpu_list"]), |_| Reply::Refuse);
    assert_eq!(refused.asked, [Question::HostKey { host: place.clone(), key: pin.clone(), other_types: vec![] }]);
    assert_eq!(*refused.failure(), Failure::new(FailureKind::HostKeyUnknown).with("found", &found).at(&place));
    assert!(refused.records.is_empty() && refused.connected.is_empty());

    let accepted = run(&setup, spec(auto(), &["gpu_list"]), |_| Reply::Accept);
    assert_eq!((accepted.asked.len(), &accepted.outcome), (1, &Some(Outcome::Done)));
    assert_eq!((&accepted.connected[0].0, accepted.connected[0].1), (&pin, true));
    assert_eq!(accepted.records.len(), 1);

    // The pin is the memory: the user's file stays as it was, and nobody is asked again.
    assert_eq!(std::fs::read_to_string(sshd.path("client_known_hosts")).unwrap(), "");
    let pinned = Host { pinned_key: Some(pin), ..auto() };
    let again = probe(&setup, pinned, &["gpu_list"]);
    assert_eq!((again.connected[0].1, again.outcome), (false, Some(Outcome::Done)));
}

#[test]
fn changed_and_revoked_keys_are_refused_without_a_question() {
    let sshd = Sshd::start();
    let found = fingerprint(&sshd.path("host_ed25519.pub"));
    let stranger = ed25519_line(&sshd, "clients/stranger.pub");
    let strangers = fingerprint(&sshd.path("clients/stranger.pub"));
    let place = format!("[127.0.0.1]:{}", sshd.port());
    let changed = |known: &str| {
        let failure = Failure::new(FailureKind::HostKeyChanged).with("known", known).with("found", &found);
        failure.at(format!("127.0.0.1:{}", sshd.port()))
    };

    let setup = sshd.setup(&format!("{place} {stranger}\n"), "");
    assert_eq!(*probe(&setup, auto(), &["gpu_list"]).failure(), changed(&strangers));

    // A pin that differs stops even where known_hosts knows the key.
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let pin = KeyPin { key_type: "ssh-ed25519".into(), fingerprint: strangers.clone() };
    let pinned = Host { pinned_key: Some(pin), ..auto() };
    assert_eq!(*probe(&setup, pinned, &["gpu_list"]).failure(), changed(&strangers));

    let revoked = format!("{}@revoked * {}\n", sshd.known_hosts(), ed25519_line(&sshd, "host_ed25519.pub"));
    let setup = sshd.setup(&revoked, "");
    assert_eq!(probe(&setup, auto(), &["gpu_list"]).failure().kind, FailureKind::HostKeyRevoked);
}

#[test]
fn the_key_type_that_is_known_is_the_one_that_is_asked_for() {
    let sshd = Sshd::start();
    let place = format!("[127.0.0.1]:{}", sshd.port());
    let setup = sshd.setup(&format!("{place} {}\n", ed25519_line(&sshd, "host_ecdsa.pub")), "");
    let done = probe(&setup, auto(), &["gpu_list"]);
    assert_eq!(done.connected[0].0.key_type, "ecdsa-sha2-nistp256");
}

#[test]
fn a_wrong_passphrase_is_asked_again_and_a_right_one_is_remembered() {
    let sshd = Sshd::start();
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let file = sshd.get("LB_SSH_KEY_ED25519_ENC").to_owned();
    let locked = || host("gpu-a", Auth::KeyFile(file.clone()));
    let ask = |again| Question::Passphrase { file: file.clone(), again };

    let refused = run(&setup, spec(locked(), &["gpu_list"]), |_| Reply::Refuse);
    assert_eq!(*refused.failure(), Failure::new(FailureKind::PassphraseNeeded).at(&file));

    let mut answers = ["wrong", "lb test passphrase"].into_iter();
    let done = run(&setup, spec(locked(), &["gpu_list"]), |_| Reply::Secret(Secret::new(answers.next().unwrap())));
    assert_eq!(done.asked, [ask(false), ask(true)]);
    assert_eq!(done.outcome, Some(Outcome::Done));

    let again = probe(&setup, locked(), &["gpu_list"]);
    assert_eq!((again.asked.len(), again.outcome), (0, Some(Outcome::Done)));
}

#[test]
fn a_login_that_is_refused_says_what_was_tried() {
    let sshd = Sshd::start();
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let file = sshd.get("LB_SSH_KEY_STRANGER").to_owned();
    let done = probe(&setup, host("gpu-a", Auth::KeyFile(file.clone())), &["gpu_list"]);
    let place = format!("{}@127.0.0.1:{}", sshd.get("LB_SSH_USER"), sshd.port());
    assert_eq!(*done.failure(), Failure::new(FailureKind::LoginRefused).with("tried", &file).at(place));
    let done = probe(&setup, host("gpu-a", Auth::Agent), &["gpu_list"]);
    assert_eq!(done.failure().kind, FailureKind::NoAgent);
    let done = probe(&setup, host("gpu-a", Auth::KeyFile("/no/such/key".into())), &["gpu_list"]);
    assert_eq!(done.failure().kind, FailureKind::FileUnreadable);
}

#[test]
fn every_key_of_the_agent_is_tried() {
    let sshd = Sshd::start();
    let socket = sshd.path("agent");
    let mut agent = std::process::Command::new("ssh-agent")
        .arg("-D")
        .arg("-a")
        .arg(&socket)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + PATIENCE;
    while !socket.exists() {
        assert!(Instant::now() < until, "no agent");
        std::thread::yield_now();
    }
    for key in ["LB_SSH_KEY_STRANGER", "LB_SSH_KEY_ECDSA"] {
        let added =
            std::process::Command::new("ssh-add").arg("-q").arg(sshd.get(key)).env("SSH_AUTH_SOCK", &socket).status();
        assert!(added.unwrap().success());
    }
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let config = setup.config.clone().unwrap();
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("IdentityAgent none", &format!("IdentityAgent {}", socket.display())))
        .unwrap();
    let done = probe(&setup, host("gpu-a", Auth::Agent), &["gpu_list"]);
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!(done.outcome, Some(Outcome::Done));
}

#[test]
fn what_a_login_prints_is_kept_apart() {
    let sshd = Sshd::start();
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let done = probe(&setup, host("gpu-noisy", Auth::Auto), &["gpu_list"]);
    let captured = done.records[0].captured.as_ref().unwrap();
    assert!(captured.pollution.contains("Welcome to your rented box!"), "{:?}", captured.pollution);
    assert!(captured.stdout.starts_with("GPU 0: NVIDIA H100"), "{:?}", captured.stdout);
    assert_eq!(captured.ended, CommandEnd::Exit(0));
    assert_eq!(fact(&done.records[0], "gpu:7", "name"), "NVIDIA H100 80GB HBM3");
}

#[test]
fn a_host_with_a_terminal_and_nothing_else_is_asked_by_it() {
    let sshd = Sshd::start();
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let done = probe(&setup, host("gpu-pty", Auth::Auto), &["gpu_list", "gpu_detail", "memory"]);
    assert_eq!(done.outcome, Some(Outcome::Done));
    let stdout = |n: usize| done.records[n].captured.as_ref().unwrap().stdout.as_str();
    assert!(stdout(0).starts_with("GPU 0: NVIDIA H100") && !stdout(0).contains('\r'), "{:?}", stdout(0));
    assert_eq!(fact(&done.records[1], "gpu:7", "memory_total"), "81559");
    for record in &done.records {
        let captured = record.captured.as_ref().unwrap();
        assert_eq!(captured.ended, CommandEnd::Exit(0));
        assert!(captured.pollution.contains("proxy: connected to container"), "{:?}", captured.pollution);
    }
}

#[test]
fn one_session_at_a_time_is_enough() {
    let sshd = Sshd::start();
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let done = probe(&setup, host("gpu-locked", Auth::Auto), &["gpu_list", "gpu_detail"]);
    assert_eq!((done.records.len(), done.outcome), (2, Some(Outcome::Done)));
}

#[test]
fn a_tool_that_is_missing_is_an_answer() {
    let sshd = Sshd::start_with_script("nvidia-smi", "echo 'sh: nvidia-smi: not found' >&2; exit 127");
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let done = probe(&setup, auto(), &["gpu_list"]);
    assert_eq!(done.records[0].captured.as_ref().unwrap().ended, CommandEnd::Exit(127));
    assert_eq!(done.records[0].absent.as_ref().unwrap().kind, AbsentKind::ToolMissing);
    assert_eq!(done.outcome, Some(Outcome::Done));
}

#[test]
fn too_much_output_is_cut_and_the_next_probe_goes_on() {
    let sshd = Sshd::start_with_script("nvidia-smi", "[ \"$1\" = -L ] && exec lb-hostile bomb 100; echo GPU");
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let done = probe(&setup, auto(), &["gpu_list", "gpu_detail"]);
    let captured = done.records[0].captured.as_ref().unwrap();
    assert_eq!(captured.ended, CommandEnd::TooMuch(4 << 20));
    assert!(captured.stdout.len() <= 4 << 20 && captured.stdout.len() > 4_000_000, "{}", captured.stdout.len());
    assert_eq!(done.records[1].captured.as_ref().unwrap().stdout, "GPU\n");
    assert_eq!(done.outcome, Some(Outcome::Done));
}

#[test]
fn a_full_second_stream_does_not_hold_up_the_first() {
    let sshd = Sshd::start_with_script("nvidia-smi", "lb-hostile stderr-flood 3");
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let done = probe(&setup, auto(), &["gpu_list"]);
    let captured = done.records[0].captured.as_ref().unwrap();
    assert_eq!((captured.stdout.as_str(), captured.stderr.len()), ("stdout survived\n", 3 << 20));
    let sshd = Sshd::start_with_script("nvidia-smi", "lb-hostile stderr-flood 8");
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let done = probe(&setup, auto(), &["gpu_list"]);
    assert_eq!(done.records[0].captured.as_ref().unwrap().ended, CommandEnd::TooMuch(4 << 20));
}

#[test]
fn bytes_and_secrets_of_a_host() {
    let sshd = Sshd::start_with_script(
        "nvidia-smi",
        "lb-hostile invalid-utf8; printf 'a\\000b token=hunter2 Authorization: Bearer abcdefgh12345678\\n'; lb-hostile sig KILL",
    );
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let done = probe(&setup, auto(), &["gpu_list"]);
    let captured = done.records[0].captured.as_ref().unwrap();
    assert_eq!(
        captured.stdout,
        "ok \\xff\\xfe \\xc0\\xaf \\xed\\xa0\\x80 end\na\0b token=[masked: secret value] Authorization: Bearer [masked: bearer token]\n"
    );
    let rules: Vec<&str> = captured.masked.iter().map(|masked| masked.rule.as_str()).collect();
    assert_eq!(rules, ["bearer token", "secret value"]);
    assert_eq!(captured.ended, CommandEnd::Exit(128 + 9));
}

/// Waits until nothing runs any more under the number that a script left in a file.
#[track_caller]
fn is_over(file: &Path) {
    let pid = std::fs::read_to_string(file).unwrap().trim().to_owned();
    let until = Instant::now() + PATIENCE;
    while Path::new("/proc").join(&pid).exists() {
        let state = std::fs::read_to_string(Path::new("/proc").join(&pid).join("stat")).unwrap_or_default();
        if state.contains(") Z ") {
            return;
        }
        assert!(Instant::now() < until, "{pid} still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_deadline_ends_the_command_on_the_host_and_the_walk_goes_on() {
    let sshd = Sshd::start_with_script("date", "echo $$ > \"$LB_STATE/pid\"; echo 17; exec sleep 200");
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let done = probe(&setup, auto(), &["clock", "gpu_list"]);
    let captured = done.records[0].captured.as_ref().unwrap();
    assert_eq!((&captured.ended, captured.stdout.as_str()), (&CommandEnd::Deadline(10), "17\n"));
    assert_eq!(done.records[1].captured.as_ref().unwrap().ended, CommandEnd::Exit(0));
    is_over(&sshd.path("pid"));
}

#[test]
fn cancel_ends_a_silent_command_and_keeps_what_came_before() {
    let script = "[ \"$1\" = -L ] && exec lb-replay-real; echo $$ > \"$LB_STATE/pid\"; exec sleep 200";
    let sshd = Sshd::start_with_script("nvidia-smi", &script.replace("exec lb-replay-real", "{ echo GPU; exit 0; }"));
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let pid = sshd.path("pid");
    let mut stopped: Option<Instant> = None;
    let done =
        run_until(&setup, spec(auto(), &["gpu_list", "gpu_detail"]), &mut |q| panic!("{q:?}"), |engine, job, _| {
            if stopped.is_none() && std::fs::read_to_string(&pid).is_ok_and(|text| !text.is_empty()) {
                engine.cancel(job);
                stopped = Some(Instant::now());
            }
        });
    assert_eq!((done.records.len(), &done.outcome), (1, &Some(Outcome::Cancelled)));
    // Not a measure of speed: the command itself would have gone on for minutes.
    assert!(stopped.unwrap().elapsed() < Duration::from_secs(20));
    is_over(&pid);
}

#[test]
fn cancel_ends_a_connection_that_never_greets() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = SshTarget {
        address: "127.0.0.1".into(),
        port: Some(listener.local_addr().unwrap().port()),
        ..SshTarget::default()
    };
    let silent = Host { reach: Reach::Ssh(target), ..auto() };
    let mut accepted = None;
    listener.set_nonblocking(true).unwrap();
    let done = run_until(&Setup::default(), spec(silent, &["gpu_list"]), &mut |q| panic!("{q:?}"), |engine, job, _| {
        if accepted.is_none()
            && let Ok((stream, _)) = listener.accept()
        {
            accepted = Some(stream);
            engine.cancel(job);
        }
    });
    assert_eq!(done.outcome, Some(Outcome::Cancelled));
}

#[test]
fn a_connection_that_breaks_is_no_exit_status() {
    // The process of the connection is `sshd`, or `sshd-session` from OpenSSH 9.8 on.
    let kill = "p=$PPID; until case $(ps -o comm= -p $p) in sshd*) true;; *) false;; esac; do \
                p=$(ps -o ppid= -p $p | tr -d ' '); done; echo before; sleep 0.2; kill -9 $p; sleep 100";
    let sshd = Sshd::start_with_script("nvidia-smi", kill);
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let done = probe(&setup, auto(), &["gpu_list", "gpu_detail"]);
    assert_eq!(done.records.len(), 1);
    let captured = done.records[0].captured.as_ref().unwrap();
    assert_eq!(captured.ended, CommandEnd::ConnectionLost);
    // What was on its way when the server died may be lost.
    assert!("before\n".starts_with(&captured.stdout), "{:?}", captured.stdout);
    assert_eq!(done.failure().kind, FailureKind::ConnectionLost);
}

#[test]
fn a_way_through_a_jump_host() {
    let sshd = Sshd::start();
    let setup = sshd.setup(&sshd.known_hosts(), "Host gpu-a\n  ProxyJump jump");
    let done = probe(&setup, auto(), &["gpu_list", "gpu_detail"]);
    assert_eq!((done.records.len(), &done.outcome), (2, &Some(Outcome::Done)));
    assert!(done.connected[0].2.contains("ProxyJump jump"), "{}", done.connected[0].2);
    assert_eq!(fact(&done.records[1], "gpu:7", "memory_total"), "81559");
}

#[test]
fn hosts_that_cannot_be_reached() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = |address: &str, port| Host {
        reach: Reach::Ssh(SshTarget { address: address.into(), port, ..SshTarget::default() }),
        ..auto()
    };
    for (host, want, kept) in [
        (at("127.0.0.1", Some(free)), FailureKind::HostUnreachable, 1),
        (at("no-such-host.invalid", None), FailureKind::HostUnreachable, 1),
        (at("-oProxyCommand=id", None), FailureKind::HostNameRefused, 0),
        (Host { reach: Reach::Pasted, ..auto() }, FailureKind::NotSupportedHere, 0),
    ] {
        let done = probe(&Setup::default(), host, &["gpu_list"]);
        assert_eq!(done.failure().kind, want);
        // A host that did not answer is evidence too, without its address.
        let connection = Source::Probe { id: "connection".into(), parser: 1 };
        assert_eq!(done.records.iter().filter(|record| record.source == connection).count(), kept);
        for record in &done.records {
            let absent = record.absent.as_ref().unwrap();
            assert_eq!(absent.kind, AbsentKind::NoConnection);
            assert!(absent.detail.starts_with("host unreachable: ") && !absent.detail.contains("127.0.0.1"));
        }
        for language in Language::ALL {
            let shown = Text::of(language).failure(done.failure()).to_string();
            assert!(!shown.contains('{') && shown.lines().count() >= 2, "{shown}");
        }
    }
    assert_eq!(probe(&Setup::default(), auto(), &["no_such_probe"]).failure().kind, FailureKind::UnknownProbe);
}

#[test]
fn this_computer_is_asked_like_a_host() {
    let here = Host { reach: Reach::ThisComputer, ..auto() };
    let done = probe(&Setup::default(), here, &["os", "gpu_list"]);
    assert_eq!(done.outcome, Some(Outcome::Done));
    let ids: Vec<String> = done
        .records
        .iter()
        .map(|record| match &record.source {
            Source::Probe { id, .. } => id.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ids, ["os", "gpu_list", "nvml"]);
    assert_eq!(fact(&done.records[0], "host", "architecture"), std::env::consts::ARCH);
    // With a driver there are facts, without one a plain absence; never neither.
    assert!(done.records[2].absent.is_some() == done.records[2].facts.is_empty());
}

#[test]
fn pasted_and_opened_outputs_are_read_by_the_same_parser() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("list.txt");
    let text = "GPU 0: NVIDIA L4 (UUID: GPU-2d4f5e1a-0b1c-2d3e-4f50-617283940a1b)\npassword=x\n";
    std::fs::write(&file, text).unwrap();
    let read = |source, probe| {
        let spec = JobSpec::ReadOutput { probe, source, exit: Some(0), stamp: stamp() };
        run(&Setup::default(), spec, |q| panic!("{q:?}"))
    };
    for (source, command) in
        [(OutputSource::Text(text.into()), "pasted text"), (OutputSource::File(file.clone()), "list.txt")]
    {
        let done = read(source, "gpu_list");
        assert_eq!(done.outcome, Some(Outcome::Done));
        let record = &done.records[0];
        assert!(matches!(&record.source, Source::Pasted { id, .. } if id == "gpu_list"));
        assert_eq!(fact(record, "gpu:0", "name"), "NVIDIA L4");
        let captured = record.captured.as_ref().unwrap();
        assert_eq!((captured.command.as_str(), captured.masked.len()), (command, 1));
    }
    let failure = |source, probe| read(source, probe).failure().kind;
    assert_eq!(failure(OutputSource::Text("hello".into()), "gpu_list"), FailureKind::OutputUnreadable);
    assert_eq!(failure(OutputSource::File(folder.path().join("none")), "gpu_list"), FailureKind::FileUnreadable);
    assert_eq!(failure(OutputSource::Text(text.into()), "no_such"), FailureKind::UnknownProbe);
    let big = folder.path().join("big");
    std::fs::write(&big, vec![b'x'; (8 << 20) + 1]).unwrap();
    assert_eq!(failure(OutputSource::File(big), "gpu_list"), FailureKind::FileUnreadable);
}

#[test]
fn aliases_are_read_from_the_configuration() {
    let sshd_less = tempfile::tempdir().unwrap();
    let config = sshd_less.path().join("config");
    std::fs::write(&config, "Host gpu-a gpu-b\nHost *\n").unwrap();
    let done = run(&Setup { config: Some(config) }, JobSpec::ListSshAliases, |q| panic!("{q:?}"));
    assert_eq!((done.aliases, done.outcome), (vec!["gpu-a".to_owned(), "gpu-b".to_owned()], Some(Outcome::Done)));
}

fn target(host: &Host) -> SshTarget {
    match &host.reach {
        Reach::Ssh(target) => target.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_tunnel_carries_bytes_to_a_port_of_the_host() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let sshd = Sshd::start();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let remote = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                tokio::io::copy(&mut from, &mut to).await.ok();
            });
        }
    });
    let cancel = CancellationToken::new();
    let gpu = auto();
    // Unknown: nobody is asked here, so the key must have been accepted before.
    let setup = sshd.setup("", "");
    let unknown = Tunnel::open(&setup, &cancel, &gpu, &target(&gpu), remote).await.unwrap_err();
    assert_eq!(unknown.kind, FailureKind::HostKeyUnknown);

    let pin = KeyPin { key_type: "ssh-ed25519".into(), fingerprint: fingerprint(&sshd.path("host_ed25519.pub")) };
    let pinned = Host { pinned_key: Some(pin), ..gpu };
    let tunnel = Tunnel::open(&setup, &cancel, &pinned, &target(&pinned), remote).await.unwrap();
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", tunnel.local_port())).await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    let mut back = [0; 5];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"hello");
    let port = tunnel.local_port();
    drop(tunnel);
    assert!(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err(), "the tunnel outlived its owner");

    let config = setup.config.clone().unwrap();
    let text = std::fs::read_to_string(&config).unwrap();
    let stranger = text.replace(sshd.get("LB_SSH_KEY_ED25519"), sshd.get("LB_SSH_KEY_STRANGER"));
    std::fs::write(&config, stranger).unwrap();
    let refused = Tunnel::open(&setup, &cancel, &pinned, &target(&pinned), remote).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::LoginRefused);
}

#[tokio::test]
async fn a_tunnel_goes_through_the_jump_host_too() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let sshd = Sshd::start();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let remote = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(b"there").await.ok();
        }
    });
    let setup = sshd.setup(&sshd.known_hosts(), "Host gpu-a\n  ProxyJump jump");
    let gpu = auto();
    let tunnel = Tunnel::open(&setup, &CancellationToken::new(), &gpu, &target(&gpu), remote).await.unwrap();
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", tunnel.local_port())).await.unwrap();
    let mut back = [0; 5];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"there");
}

#[test]
fn gpus_are_sampled_until_cancelled() {
    let sshd = Sshd::start();
    let setup = sshd.setup(&sshd.known_hosts(), "");
    let cancel = CancellationToken::new();
    let (out, mut inbox) = tokio::sync::mpsc::channel(64);
    let thread = spawn_sampler(&setup, &auto(), Instant::now(), cancel.clone(), out).unwrap();
    let samples: Vec<_> = (0..20).map(|_| inbox.blocking_recv().unwrap()).collect();
    let indexes: Vec<u32> = samples.iter().map(|sample| sample.gpu_idx).collect();
    assert_eq!(indexes[..9], [0, 1, 2, 3, 4, 5, 6, 7, 0]);
    assert_eq!(
        (samples[1].memory_mib, samples[1].utilization, samples[1].power_watts),
        (Some(61_251.0), Some(91.0), Some(543.75))
    );
    assert!(samples.windows(2).all(|pair| pair[0].at_secs <= pair[1].at_secs));
    cancel.cancel();
    assert_eq!(thread.join().unwrap(), Ok(()));

    let (out, _inbox) = tokio::sync::mpsc::channel(64);
    let setup = sshd.setup("", "");
    let thread = spawn_sampler(&setup, &auto(), Instant::now(), CancellationToken::new(), out).unwrap();
    assert_eq!(thread.join().unwrap().unwrap_err().kind, FailureKind::HostKeyUnknown);
}
