//! Streams mutated ten thousand times by seed: no panic, no hang, nothing unbounded.

use leasebench::domain::brief::AcceptRule;
use leasebench::domain::load::Api;
use leasebench::wire::openai::Reader;
use leasebench::wire::{jsonl, openai};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

const ROUNDS: u64 = 10_000;

fn captures() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/sse");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Changes, drops, doubles and inserts bytes and pieces.
fn mutate(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>) {
    for _ in 0..=rng.next_u32() % 8 {
        let at = rng.next_u32() as usize % bytes.len().max(1);
        let to = (at + rng.next_u32() as usize % 64).min(bytes.len());
        match rng.next_u32() % 7 {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = rng.next_u32() as u8),
            1 => drop(bytes.drain(at..to)),
            2 => bytes.truncate(at.max(1)),
            3 => {
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece.iter().copied().cycle().take(piece.len() * 5));
            }
            4 => drop(bytes.splice(at..at, *b"\r\n\r\n")),
            5 => drop(bytes.splice(at..at, *b"[[[[{\"a\":")),
            _ => drop(bytes.splice(at..at, *b"99999999999999999999")),
        }
    }
}

#[test]
fn mutated_streams_end_by_a_cause() {
    let captures = captures();
    for seed in 0..ROUNDS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = captures[rng.next_u32() as usize % captures.len()].clone();
        mutate(&mut rng, &mut bytes);
        let api = if rng.next_u32().is_multiple_of(2) { Api::Chat } else { Api::Completions };
        let rule = AcceptRule::Contains("a".to_owned());
        let mut reader = Reader::new(api, &rule);
        for piece in bytes.chunks(1 + rng.next_u32() as usize % 200) {
            if !reader.feed(1.0, piece) {
                break;
            }
        }
        let (ending, trace) = reader.finish(2.0, rng.next_u32().is_multiple_of(2), &rule);
        assert!(ending.message.chars().count() <= 300, "seed {seed}");
        assert!(trace.events as usize <= bytes.len(), "seed {seed}");
        assert_eq!(trace.gaps_us.len(), (trace.events as usize).saturating_sub(1), "seed {seed}");
        let words = openai::error_words(&String::from_utf8_lossy(&bytes));
        assert!(words.chars().count() <= 300, "seed {seed}");
    }
}

#[test]
fn mutated_prompts_are_read_or_refused() {
    let file = b"{\"prompt\":\"a\",\"max_tokens\":5}\n{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n\
        {\"custom_id\":\"1\",\"body\":{\"messages\":[{\"role\":\"user\",\"content\":\"c\"}]}}\n";
    for seed in 0..ROUNDS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = file.to_vec();
        mutate(&mut rng, &mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        if let Err(bad) = jsonl::prompts(&text, Api::Chat, 1) {
            assert!(bad.line >= 1 && bad.line <= text.lines().count().max(1), "seed {seed}: {bad}");
        }
    }
}
