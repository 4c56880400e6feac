//! What always holds: chunk borders do not change what is read; percentiles lie within their samples.

use leasebench::domain::brief::AcceptRule;
use leasebench::domain::load::Api;
use leasebench::domain::stats;
use leasebench::wire::openai::{Ending, Reader, Trace};
use proptest::prelude::*;

/// Reads a stream whose pieces end at these places, all at one instant.
fn read(stream: &[u8], borders: &[usize]) -> (Ending, Trace) {
    let rule = AcceptRule::MinChars(3);
    let mut reader = Reader::new(Api::Chat, &rule);
    let mut from = 0;
    for to in borders.iter().copied().chain([stream.len()]) {
        reader.feed(1.0, &stream[from..to]);
        from = to;
    }
    reader.finish(2.0, true, &rule)
}

/// A stream of events of every kind, with every kind of line end.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let data = prop_oneof![
        Just(r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#.to_owned()),
        "[a-z 东🗼\"\\\\]{0,6}".prop_map(|text| format!(
            r#"{{"choices":[{{"delta":{{"content":{}}},"finish_reason":null}}]}}"#,
            serde_json::Value::String(text)
        )),
        (0_u32..40).prop_map(|n| format!(
            r#"{{"choices":[{{"delta":{{"reasoning":"x"}}}}],"usage":{{"prompt_tokens":3,"completion_tokens":{n}}}}}"#
        )),
        Just(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned()),
        Just("[DONE]".to_owned()),
        Just("{broken".to_owned()),
        Just(r#"{"error":{"message":"no"}}"#.to_owned()),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    let event = (data, end, 0_u8..4).prop_map(|(data, end, extra)| match extra {
        0 => format!(": comment{end}{end}data: {data}{end}{end}"),
        1 => format!("event: message{end}data:{data}{end}{end}"),
        _ => format!("data: {data}{end}{end}"),
    });
    proptest::collection::vec(event, 0..12).prop_map(|events| events.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunk_borders_do_not_change_what_is_read(
        stream in stream(),
        cut_to in 0.0_f64..=1.0,
        borders in proptest::collection::vec(0.0_f64..=1.0, 0..20),
    ) {
        let place = |share: f64, len: usize| (share * len as f64) as usize;
        let stream = &stream[..place(cut_to.max(0.5), stream.len())];
        let mut borders: Vec<usize> = borders.into_iter().map(|share| place(share, stream.len())).collect();
        borders.sort_unstable();
        let whole = read(stream, &[]);
        prop_assert_eq!(&read(stream, &borders), &whole);
        let every: Vec<usize> = (0..stream.len()).collect();
        prop_assert_eq!(&read(stream, &every), &whole);
    }

    #[test]
    fn percentiles_lie_within_their_samples_and_in_order(mut values in proptest::collection::vec(-1e6_f64..1e6, 1..300)) {
        let summary = stats::summary(&mut values).unwrap();
        let (min, max) = (values[0], values[values.len() - 1]);
        let mut last = min;
        for q in [0.0, 0.05, 0.5, 0.95, 0.99, 1.0] {
            let value = stats::percentile(&values, q).unwrap();
            prop_assert!(value >= last && value <= max);
            last = value;
        }
        prop_assert!(summary.mean >= min - 1e-6 && summary.mean <= max + 1e-6);
        prop_assert_eq!(summary.n, values.len() as u64);
    }
}
