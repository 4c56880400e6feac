//! Hostile input: captures mutated by seed. No panic, bounded results, whatever a host sends.

use leasebench::domain::evidence::{Captured, CommandEnd};
use leasebench::domain::facts::Value;
use leasebench::probe::{self, MAX_FACTS, MAX_FINDINGS, MAX_TEXT, Reading};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::captures::captures;

/// Mutated answers in all.
const CASES: usize = 10_000;

/// A number below `n`.
pub fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    (rng.next_u64() % u64::try_from(n.max(1)).unwrap()) as usize
}

/// One of the things that go wrong on the way, or that somebody does on purpose.
pub fn mutate(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>) {
    let at = below(rng, bytes.len() + 1);
    match below(rng, 9) {
        0 => bytes.truncate(at),
        1 => {
            for _ in 0..=below(rng, 20) {
                if !bytes.is_empty() {
                    let at = below(rng, bytes.len());
                    bytes[at] ^= 1 << below(rng, 8);
                }
            }
        }
        2 => {
            let end = (at + below(rng, 2_000)).min(bytes.len());
            let chunk = bytes[at..end].to_vec();
            for _ in 0..=below(rng, 8) {
                bytes.splice(at..at, chunk.iter().copied());
            }
        }
        3 => {
            let end = (at + below(rng, 500)).min(bytes.len());
            bytes.drain(at..end);
        }
        4 => {
            let junk: [&[u8]; 8] = [
                b"\x1b[31m\x1b[2J",
                b"\x00\x07\r",
                "\u{202e}\u{200b}".as_bytes(),
                b"\t\t\t\n",
                b"<gpu id=\"",
                b"]]>&#x41;&bad;",
                b"99999999999999999999999",
                b"{\"\":[[[[",
            ];
            bytes.splice(at..at, junk[below(rng, junk.len())].iter().copied());
        }
        5 => {
            let word: [&[u8]; 4] = [b"[GPU requires reset]", b"N/A", b"GPU is lost", b"-9223372036854775808"];
            let end = (at + below(rng, 12)).min(bytes.len());
            bytes.splice(at..end, word[below(rng, word.len())].iter().copied());
        }
        6 => {
            let long = vec![b"x1<|{ "[below(rng, 6)]; below(rng, 20_000)];
            bytes.splice(at..at, long);
        }
        7 => bytes.retain(|byte| *byte != b'\n'),
        _ => bytes.iter_mut().for_each(|byte| {
            if *byte == b'\t' {
                *byte = b' ';
            }
        }),
    }
}

fn assert_bounded(reading: &Reading, what: &str) {
    assert!(reading.facts.len() <= MAX_FACTS && reading.findings.len() <= MAX_FINDINGS, "{what}");
    let mut texts: Vec<&str> = reading.findings.iter().map(|finding| finding.text.as_str()).collect();
    texts.extend(reading.absent.iter().map(|absent| absent.detail.as_str()));
    for fact in &reading.facts {
        texts.push(&fact.device.0);
        match &fact.value {
            Ok(Value::Text(text)) => texts.push(text),
            Ok(Value::Float(x)) => assert!(x.is_finite(), "{what}"),
            Ok(Value::Int(_)) => {}
            Err(absent) => texts.push(&absent.detail),
        }
    }
    for text in texts {
        assert!(text.len() <= MAX_TEXT + '…'.len_utf8(), "{what}: {} bytes", text.len());
        assert!(!text.chars().any(char::is_control), "{what}: {text:?}");
    }
}

#[test]
fn mutated_captures_are_read_or_refused() {
    let captures = captures();
    let texts: Vec<Vec<u8>> = captures.iter().map(|(_, file, _)| std::fs::read(file).unwrap()).collect();
    for case in 0..CASES {
        let mut rng = ChaCha8Rng::seed_from_u64(case as u64);
        let which = case % captures.len();
        let mut bytes = texts[which].clone();
        for _ in 0..=below(&mut rng, 3) {
            mutate(&mut rng, &mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let split = below(&mut rng, 10) == 0;
        let out = Captured {
            command: "hostile".to_owned(),
            stdout: if split { String::new() } else { text.clone() },
            stderr: if split { text } else { String::new() },
            pollution: String::new(),
            ended: [CommandEnd::Exit(0), CommandEnd::Exit(15), CommandEnd::TooMuch(1), CommandEnd::Unknown]
                [below(&mut rng, 4)]
            .clone(),
            took_secs: 0.0,
            masked: Vec::new(),
        };
        // One answer in eight is read by the parser of another probe: people paste into the wrong field.
        let id = if below(&mut rng, 8) == 0 {
            probe::ALL[below(&mut rng, probe::ALL.len())].id
        } else {
            captures[which].0.as_str()
        };
        let what = format!("seed {case}: {} read as {id}", captures[which].1.display());
        let probe = probe::find(id).unwrap();
        let reading = std::panic::catch_unwind(|| probe.read(&out)).unwrap_or_else(|_| panic!("{what}"));
        assert_bounded(&reading, &what);
    }
}
