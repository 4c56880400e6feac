//! Where the prompts of a run come from.

use std::io::Read;
use std::path::Path;

use rand_core::RngCore;

use crate::domain::arrivals;
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::load::{Api, LoadPlan, Prompts};
use crate::domain::{digest, load};
use crate::wire::jsonl;
use crate::wire::openai::Prompt;

/// The most that is read of a prompts file, bytes.
const MAX_FILE: u64 = 256 << 20;

/// Short common words, most of them one token in the vocabularies in use. Others would do: `usage` says what came of it.
const WORDS: &str = "the of and to in is you that it he was for on are as with his they at be this have from or one had \
    by word but not what all were we when your can said there use an each which she do how their if will up other about \
    out many then them these so some her would make like him into time has look two more write go see number no way could \
    people my than first water been call who oil its now find long down day did get come made may part over new sound take \
    only little work know place year live me back give most very after thing our just name good sentence man think say \
    great where help through much before line right too mean old any same tell boy follow came want show also around form \
    three small set put end does another well large must big even such because turn here why ask went men read need land \
    different home us move try kind hand picture again change off play spell air away animal house point page letter mother \
    answer found study still learn should world high every near add food between own below country plant last school father \
    keep tree never start city earth eye light thought head under story saw left few while along might close something seem \
    next hard open example begin life always those both paper together got group often run important until children side";

/// Makes the prompt of each request.
pub(super) struct Source {
    api: Api,
    seed: u64,
    what: What,
}

enum What {
    Made { words: Vec<&'static str>, input_tokens: u32, output_tokens: u32 },
    Listed(Vec<Prompt>),
}

impl Source {
    /// Reads the prompts file where the plan names one, and completes the plan with what it holds.
    ///
    /// # Errors
    /// `FileUnreadable`, or `PromptsMalformed` with its line.
    pub(super) fn new(plan: &mut LoadPlan, path: Option<&Path>) -> Result<Self, Failure> {
        let what = match &mut plan.prompts {
            Prompts::Synthetic { input_tokens, output_tokens } => What::Made {
                words: WORDS.split_whitespace().collect(),
                input_tokens: *input_tokens,
                output_tokens: *output_tokens,
            },
            Prompts::Jsonl { name, sha256, n_prompts, output_tokens } => {
                let path =
                    path.ok_or_else(|| Failure::new(FailureKind::PlanRefused).with("what", "no_prompts_file"))?;
                let bytes = read(path)?;
                let malformed = |line: usize, cause: String| {
                    Failure::new(FailureKind::PromptsMalformed).with("line", line).because(cause).at(path.display())
                };
                let text = std::str::from_utf8(&bytes).map_err(|error| {
                    let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
                    malformed(1 + before.iter().filter(|byte| **byte == b'\n').count(), error.to_string())
                })?;
                let prompts =
                    jsonl::prompts(text, plan.api, *output_tokens).map_err(|bad| malformed(bad.line, bad.what))?;
                *name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                *sha256 = digest::sha256_hex(&bytes);
                *n_prompts = u32::try_from(prompts.len()).unwrap_or(u32::MAX);
                What::Listed(prompts)
            }
        };
        Ok(Self { api: plan.api, seed: plan.seed, what })
    }

    /// The prompt of the `idx`-th request of a step. Made text is a fresh one for every request of a run, so that no
    /// prefix cache answers in the server's place; the same seed makes the same run.
    pub(super) fn prompt(&self, step: u64, idx: u64) -> Prompt {
        match &self.what {
            What::Made { words, input_tokens, output_tokens } => {
                let text = made(words, self.seed, step, idx, *input_tokens);
                Prompt::text(self.api, text, *output_tokens, true)
            }
            What::Listed(prompts) => {
                let n = prompts.len().max(1) as u64;
                let at = usize::try_from(idx % n).unwrap_or(0);
                prompts.get(at).cloned().unwrap_or_else(|| Prompt::text(self.api, String::new(), 1, false))
            }
        }
    }
}

fn made(words: &[&str], seed: u64, step: u64, idx: u64, n_words: u32) -> String {
    // Stream 0 of a step lays out its arrivals.
    let mut rng = arrivals::rng(seed, step, idx + 1);
    let mut text = String::with_capacity(usize::try_from(n_words).unwrap_or(0).saturating_mul(6));
    for number in 0..n_words {
        if number > 0 {
            text.push(' ');
        }
        let draw = usize::try_from(rng.next_u32()).unwrap_or(0);
        text.push_str(words.get(draw % words.len().max(1)).copied().unwrap_or_default());
    }
    text
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |cause: String| Failure::new(FailureKind::FileUnreadable).because(cause).at(path.display());
    let file = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(unreadable(format!("more than {} MiB", MAX_FILE >> 20)));
    }
    Ok(bytes)
}

/// Refuses a plan that cannot be run: nothing to do, numbers that are none, or more than a program can hold.
///
/// # Errors
/// `PlanRefused`, saying what by a name of the text files.
pub(super) fn check(plan: &LoadPlan) -> Result<(), Failure> {
    let refused = |what: &str| Err(Failure::new(FailureKind::PlanRefused).with("what", what));
    if plan.model.trim().is_empty() {
        return refused("no_model");
    }
    if plan.stages.is_empty() {
        return refused("no_stage");
    }
    for stage in &plan.stages {
        let level_fits = match plan.arrivals {
            load::Arrivals::Concurrency => {
                stage.level.fract() == 0.0 && (1.0..=f64::from(load::MAX_CONCURRENCY)).contains(&stage.level)
            }
            load::Arrivals::Constant | load::Arrivals::Poisson => stage.level > 0.0 && stage.level <= load::MAX_RATE,
        };
        if !level_fits {
            return refused("stage_level");
        }
        let n_fits = match stage.until {
            load::Until::Requests(n) => (1..=arrivals::MAX_REQUESTS).contains(&n),
            load::Until::Secs(secs) => {
                secs > 0.0
                    && secs <= load::MAX_SECS
                    && (plan.arrivals == load::Arrivals::Concurrency
                        || secs * stage.level <= f64::from(arrivals::MAX_REQUESTS))
            }
        };
        if !n_fits {
            return refused("stage_length");
        }
    }
    let timeouts = &plan.timeouts;
    let limits = [timeouts.connect_secs, timeouts.first_byte_secs, timeouts.gap_secs, timeouts.total_secs];
    if !limits.iter().all(|secs| *secs > 0.0) {
        return refused("timeouts");
    }
    match plan.prompts {
        Prompts::Synthetic { input_tokens, output_tokens }
            if input_tokens == 0 || output_tokens == 0 || input_tokens > load::MAX_INPUT_TOKENS =>
        {
            refused("prompt_lengths")
        }
        Prompts::Jsonl { output_tokens: 0, .. } => refused("prompt_lengths"),
        Prompts::Synthetic { .. } | Prompts::Jsonl { .. } => Ok(()),
    }
}
