//! What cannot be read or computed is told: what, and where.

use leasebench::domain::cost;

use super::ask;

#[test]
fn bad_input_is_named_with_its_place() {
    let mut wrong = Vec::new();
    for (name, body, want) in [
        (
            "a bare number for money",
            "currency: \"USD\", charges: [(amount: 2.49)],",
            "line 3, column 39: Expected a quoted amount, as \"2.49\" or \"2.49 USD\" but found the floating point \
             number `2.49` instead",
        ),
        (
            "a bare whole number for money",
            "currency: \"USD\", charges: [(amount: 2)],",
            "line 3, column 39: Expected a quoted amount, as \"2.49\" or \"2.49 USD\" but found the unsigned integer \
             `2` instead",
        ),
        (
            "forty digits",
            "charges: [(amount: \"0.1234567890123456789012345678901234567890 USD\")],",
            "line 3, column 23: \"0.1234567890123456789012345678901234567890\" has 41 digits; a decimal holds 28 \
             exactly, and nothing is rounded here",
        ),
        (
            "a price below zero",
            "components: [(id: \"a\", rate: \"-1 USD per hour\")],",
            "line 3, column 33: \"-1 USD per hour\" is below zero",
        ),
        (
            "a quantity below zero",
            "components: [(id: \"a\", rate: \"1 USD per GB\", quantity: \"-5 GB\")],",
            "line 3, column 59: \"-5 GB\" is below zero",
        ),
        (
            "an unknown field",
            "components: [(id: \"a\", rates_per: \"1\")],",
            "line 3, column 26: Unexpected field named `rates_per` in `Component`, expected one of…",
        ),
        (
            "a gap between tiers",
            "components: [(id: \"a\", tiers: (steps: [(up_to: \"10 GB\", rate: \"1 USD per GB\"), (from: \"12 GB\", rate: \
             \"2 USD per GB\")]))],",
            "line 3, column 21: component \"a\": tiers 1 and 2 leave a gap",
        ),
        (
            "overlapping tiers",
            "components: [(id: \"a\", tiers: (steps: [(up_to: \"10 GB\", rate: \"1 USD per GB\"), (from: \"9 GB\", rate: \
             \"2 USD per GB\")]))],",
            "line 3, column 21: component \"a\": tiers 1 and 2 overlap",
        ),
        (
            "tiers that fall",
            "components: [(id: \"a\", tiers: (steps: [(up_to: \"10 GB\", rate: \"1 USD per GB\"), (up_to: \"9 GB\", rate: \
             \"2 USD per GB\")]))],",
            "line 3, column 21: component \"a\": tier 2 ends before it starts",
        ),
        (
            "a period that ends before it starts",
            "zone: \"UTC\", period: (from: \"2026-11-01\", to: \"2026-10-01\"),",
            "line 3, column 49: \"2026-10-01\" ends before it starts at \"2026-11-01\"",
        ),
        (
            "a session that ends before it starts",
            "zone: \"UTC\", resources: [(id: \"vm\", sessions: [(from: \"2026-11-01\", to: \"2026-10-01\")])],",
            "line 3, column 75: a session of \"vm\" ends before it starts",
        ),
        (
            "an hour that happens twice",
            "zone: \"Europe/Berlin\", resources: [(id: \"vm\", sessions: [(from: \"2026-10-25T02:30\", lasts: \"1 h\")])],",
            "line 3, column 67: \"2026-10-25T02:30\" happens twice in Europe/Berlin: write \
             \"2026-10-25T02:30+02:00\" or \"2026-10-25T02:30+01:00\"",
        ),
        (
            "an hour that does not exist",
            "zone: \"Europe/Berlin\", resources: [(id: \"vm\", sessions: [(from: \"2026-03-29T02:30\", lasts: \"1 h\")])],",
            "line 3, column 67: \"2026-03-29T02:30\" does not exist in Europe/Berlin: the clock was put forward over it",
        ),
        (
            "a day without a zone",
            "resources: [(id: \"vm\", sessions: [(from: \"2026-03-29\", lasts: \"1 h\")])],",
            "line 3, column 44: \"2026-03-29\" has no offset, and no zone is stated",
        ),
        (
            "a day that does not exist",
            "zone: \"UTC\", resources: [(id: \"vm\", sessions: [(from: \"2026-02-30\", lasts: \"1 h\")])],",
            "line 3, column 58: \"2026-02-30\" is no instant, as \"2026-10-31T15:00Z\", \"2026-10-31T15:00\" or \
             \"2026-10-31\"",
        ),
        (
            "one machine twice at a time",
            "zone: \"UTC\", resources: [(id: \"vm\", sessions: [(from: \"2026-10-01\", lasts: \"25 h\"), (from: \
             \"2026-10-02\", lasts: \"1 h\")])],",
            "line 3, column 33: \"vm\" runs twice at 2026-10-02 00:00:00 UTC: one session lasts until 2026-10-02 \
             01:00:00 UTC",
        ),
        (
            "no currency",
            "charges: [(id: \"x\", amount: \"1\")],",
            "line 3, column 18: the amount 1 of \"x\" has no currency, and the case names none",
        ),
        (
            "more accepted than attempted",
            "outcomes: [(attempted: 3, accepted: 4)],",
            "line 3, column 3: outcome 1: accepted (4) is above attempted (3)",
        ),
        (
            "repetitions without end",
            "resources: [(id: \"vm\", sessions: [(pieces: [(lasts: \"1 s\", times: 4000000000)])])],",
            "line 3, column 62: 4000000000 repetitions in all are more than 200000",
        ),
        (
            "a session of nine thousand years",
            "zone: \"UTC\", resources: [(id: \"vm\", sessions: [(from: \"0999-11-01\", to: \"9999-10-01\")])],",
            "line 3, column 33: a session of \"vm\" lasts more than a century",
        ),
        (
            "a month as a step",
            "components: [(id: \"a\", rate: \"1 USD per hour\", step: \"1 month\")],",
            "line 3, column 21: component \"a\": a month is no step; write hours or days",
        ),
        (
            "inside nothing",
            "components: [(id: \"a\", rate: \"1 USD per hour\", inside: \"b\")],",
            "line 3, column 58: no component is named \"b\"",
        ),
    ] {
        let text = format!("(\n  id: \"t\",\n  {body}\n  questions: [(name: \"q\", ask: amount())],\n)");
        let got = cost::read_case(&text).map(|_| String::new()).unwrap_or_else(|error| error.to_string());
        let is_met = match want.strip_suffix('…') {
            Some(start) => got.starts_with(start),
            None => got == want,
        };
        if !is_met {
            wrong.push(format!("{name}\n  got  {got}\n  want {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_cannot_be_summed_has_no_value() {
    let mut wrong = Vec::new();
    let two = |first: &str, second: &str| {
        format!("currency: \"USD\", components: [{first}, {second}], resources: [(id: \"vm\", sessions: [\"1 h\"])],")
    };
    let gpu = "(id: \"gpu\", category: accelerator, rate: \"2 per hour\")";
    for (name, body, question, want) in [
        (
            "an overlap names both",
            two(
                "(id: \"instance\", covers: [\"accelerator\", \"host\"], rate: \"2 per hour\")",
                "(id: \"host\", category: host, rate: \"1 per hour\")",
            ),
            "amount()",
            "no value: overlap (\"instance\" and \"host\" both cover host)",
        ),
        (
            "inside resolves it",
            two(
                "(id: \"instance\", covers: [\"accelerator\", \"host\"], rate: \"2 per hour\")",
                "(id: \"host\", category: host, rate: \"1 per hour\", inside: \"instance\")",
            ),
            "amount()",
            "2",
        ),
        (
            "an unknown price leaves a lower bound",
            two(gpu, "(id: \"disk\", category: local_disk)"),
            "amount()",
            "no value: missing_price (disk), at least 2",
        ),
        (
            "two currencies",
            two(gpu, "(id: \"disk\", category: local_disk, rate: \"1 EUR per hour\")"),
            "amount()",
            "no value: mixed_currency (USD and EUR)",
        ),
        (
            "two currencies and a rate of another pair",
            two(gpu, "(id: \"disk\", category: local_disk, rate: \"1 EUR per hour\")")
                + "exchange: [(one: \"USD\", is: \"7 CNY\")],",
            "amount(currency: \"USD\")",
            "no value: missing_rate (EUR to USD)",
        ),
        (
            "a state nobody priced",
            format!("currency: \"USD\", components: [{gpu}], resources: [(id: \"vm\", sessions: [(lasts: \"1 h\", state: \"stopped\")])],"),
            "amount()",
            "no value: state_not_stated (\"gpu\" in state \"stopped\")",
        ),
        (
            "a length of time has no day",
            format!("currency: \"USD\", zone: \"UTC\", components: [{gpu}], resources: [(id: \"vm\", sessions: [\"1 h\"])],"),
            "amount(day: \"2026-10-25\")",
            "no value: no_instant (\"gpu\")",
        ),
        (
            "one of those who share an allowance",
            "currency: \"USD\", components: [(id: \"out\", rate: \"1 per GB\", driver: used(\"out\"), allowance: (amount: \
             \"100 GB\"))], resources: [(id: \"a\"), (id: \"b\")], usage: [(meter: \"out\", resource: \"a\", quantity: \"80 \
             GB\"), (meter: \"out\", resource: \"b\", quantity: \"70 GB\")],"
                .to_owned(),
            "amount(resources: [\"b\"])",
            "no value: shared_split (\"out\", state how it is split)",
        ),
        (
            "zero accepted",
            "currency: \"USD\", charges: [(amount: \"5\")], outcomes: [(attempted: 3, accepted: 0)],".to_owned(),
            "unit_cost(per: \"accepted\")",
            "no value: zero_accepted (nothing accepted came out)",
        ),
        (
            "more used than the account holds",
            "currency: \"USD\", wallet: (opening: \"1\"), charges: [(amount: \"5\")],".to_owned(),
            "wallet(part: closing)",
            "no value: wallet_empty (4 USD are missing)",
        ),
    ] {
        let got = ask(&body, question);
        if got != want {
            wrong.push(format!("{name}\n  got  {got}\n  want {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
