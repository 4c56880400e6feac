//! A request's latencies, from the *start*: the intended send time in a rate-driven run, so that waiting on our side
//! counts; the actual send time in a concurrency-driven run. All in seconds. Undefined stays `None`.

use super::load::{Arrivals, OutcomeClass, RequestRecord};

/// Whether the request's latencies go into distributions: complete answers only, accepted or not. A failed or cut
/// request has no end that could be compared; it is counted by its cause instead.
#[must_use]
pub fn is_complete(request: &RequestRecord) -> bool {
    matches!(request.outcome.class(), OutcomeClass::Completed | OutcomeClass::Rejected)
}

/// The start of a request, s since the start of the run.
#[must_use]
pub fn start(request: &RequestRecord, arrivals: Arrivals) -> f64 {
    match arrivals {
        Arrivals::Concurrency => request.sent_secs,
        Arrivals::Constant | Arrivals::Poisson => request.intended_secs,
    }
}

/// Actual minus intended send time (lateness).
#[must_use]
pub fn lateness(request: &RequestRecord) -> f64 {
    request.sent_secs - request.intended_secs
}

/// Start to the first token of any kind (TTFT): text, reasoning, tool call, refusal, or a token without text. The role
/// event is none.
#[must_use]
pub fn ttft(request: &RequestRecord, arrivals: Arrivals) -> Option<f64> {
    request.first_token_secs.map(|at| at - start(request, arrivals))
}

/// Start to the first visible text of the answer (TTFC); reasoning is not part of the answer.
#[must_use]
pub fn ttfc(request: &RequestRecord, arrivals: Arrivals) -> Option<f64> {
    request.first_text_secs.map(|at| at - start(request, arrivals))
}

/// Start to the last token (E2EL).
#[must_use]
pub fn e2el(request: &RequestRecord, arrivals: Arrivals) -> Option<f64> {
    request.last_token_secs.map(|at| at - start(request, arrivals))
}

/// Mean time per output token after the first event (TPOT).
///
/// `(last - first) / (tokens - tokens of the first event)`. `None` when nothing came after the first event: zero would
/// look fast. Other tools use this name with the first token counted in; reports state ours.
#[must_use]
pub fn tpot(request: &RequestRecord) -> Option<f64> {
    let (first, last) = (request.first_token_secs?, request.last_token_secs?);
    let n_tokens = request.output_tokens?.checked_sub(request.first_event_tokens)?;
    (request.events >= 2 && n_tokens > 0).then(|| (last - first) / f64::from(n_tokens))
}

/// Gaps between neighbouring token events, s.
pub fn gaps(request: &RequestRecord) -> impl Iterator<Item = f64> + '_ {
    request.gaps_us.iter().map(|gap| f64::from(*gap) * 1e-6)
}

/// How many tokens had no event of their own, or events no token: the distance between the two counts. 0 when the
/// server did not count tokens, since then an event is all we know.
#[must_use]
pub fn unmatched(request: &RequestRecord) -> u32 {
    match (request.token_source, request.output_tokens) {
        (super::load::TokenSource::Usage, Some(tokens)) => {
            let apart = tokens.abs_diff(request.events);
            if request.merged { apart.max(1) } else { apart }
        }
        _ => u32::from(request.merged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::load::{Outcome, TokenSource};

    /// A request intended at 1 s, sent at 1.5 s, with tokens at these times; the first event holds `first_tokens`.
    fn request(token_times: &[f64], first_tokens: u32, tokens: Option<u32>) -> RequestRecord {
        RequestRecord {
            intended_secs: 1.0,
            sent_secs: 1.5,
            first_token_secs: token_times.first().copied(),
            first_text_secs: token_times.get(1).copied(),
            last_token_secs: token_times.last().copied(),
            end_secs: 9.0,
            gaps_us: vec![250_000; token_times.len().saturating_sub(1)],
            events: u32::try_from(token_times.len()).unwrap(),
            merged: false,
            first_event_tokens: first_tokens,
            input_tokens: None,
            output_tokens: tokens,
            token_source: TokenSource::Usage,
            outcome: Outcome::Completed,
            message: String::new(),
        }
    }

    #[test]
    fn latencies_count_from_the_start_of_the_guide() {
        let request = request(&[2.0, 2.25, 2.5], 1, Some(3));
        assert_eq!(ttft(&request, Arrivals::Concurrency), Some(0.5));
        assert_eq!(ttft(&request, Arrivals::Poisson), Some(1.0), "waiting on our side counts");
        assert_eq!(ttfc(&request, Arrivals::Constant), Some(1.25));
        assert_eq!(e2el(&request, Arrivals::Concurrency), Some(1.0));
        assert!((lateness(&request) - 0.5).abs() < 1e-12);
        assert_eq!(gaps(&request).collect::<Vec<_>>(), [0.25, 0.25]);
    }

    #[test]
    fn tpot_leaves_out_the_first_event() {
        for (name, times, first, tokens, want) in [
            ("no token", &[][..], 0, None, None),
            ("one event has no gap", &[0.3][..], 1, Some(1), None),
            ("all tokens in one event", &[0.3][..], 1, Some(8), None),
            ("two tokens", &[0.25, 0.5][..], 1, Some(2), Some(0.25)),
            ("two tokens share the second event", &[0.25, 0.75][..], 1, Some(3), Some(0.25)),
            ("two tokens share the first event", &[0.25, 0.75][..], 2, Some(4), Some(0.25)),
            ("nobody counted", &[0.25, 0.75][..], 1, None, None),
        ] {
            assert_eq!(tpot(&request(times, first, tokens)), want, "{name}");
        }
    }

    #[test]
    fn events_and_tokens_are_held_against_each_other() {
        for (name, events, tokens, source, merged, want) in [
            ("they fit", 3, Some(3), TokenSource::Usage, false, 0),
            ("merged", 2, Some(8), TokenSource::Usage, true, 6),
            ("events without tokens", 5, Some(3), TokenSource::Usage, false, 2),
            ("merged and an event too many cancel out", 3, Some(3), TokenSource::Usage, true, 1),
            ("nobody counted", 3, Some(3), TokenSource::Events, false, 0),
        ] {
            let mut request = request(&[0.1; 1], 1, tokens);
            request.events = events;
            request.token_source = source;
            request.merged = merged;
            assert_eq!(unmatched(&request), want, "{name}");
        }
    }
}
