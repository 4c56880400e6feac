//! Rules that the worked cases do not reach, each as a small case with its answers worked out by hand.

use leasebench::domain::cost;

/// What each case shows, and the case without its name.
const RULES: &[(&str, &str)] = &[
    (
        "each session has its own minimum",
        r#"
currency: "EUR", zone: "Europe/Paris",
components: [(id: "gpu", rate: "1.00 per hour", step: "1 min", minimum: "60 min")],
resources: [(id: "vm", sessions: [(lasts: "5 min", times: 3), "3661 s"])],
questions: [(name: "a", ask: amount(), expect: "121/30"), (name: "q", ask: quantity(unit: "min"), expect: "242"), (name: "m", ask: quantity(unit: "s", stage: metered), expect: "4561")],
"#,
    ),
    (
        "a step for each day",
        r#"
currency: "EUR", zone: "Europe/Paris",
components: [(id: "gpu", rate: "1.00 per hour", step: "1 h", each: day)],
resources: [(id: "vm", sessions: [(from: "2026-10-24T10:00", lasts: "20 min"), (from: "2026-10-24T12:00", lasts: "20 min"), (from: "2026-10-25T00:00", to: "2026-10-26T00:00")])],
questions: [(name: "a", ask: amount(), expect: "26"), (name: "d", ask: amount(day: "2026-10-24"), expect: "1")],
"#,
    ),
    (
        "whole weeks",
        r#"
currency: "EUR",
components: [(id: "cluster", rate: "100 per hour", step: "1 week")],
resources: [(id: "c", sessions: [(from: "2026-10-05T00:00Z", lasts: "8 days")])],
questions: [(name: "a", ask: amount(), expect: "33600")],
"#,
    ),
    (
        "a state that is not billed ends a session",
        r#"
currency: "USD",
components: [(id: "gpu", rate: "3.6 per hour", step: "1 s", minimum: "60 s", states: {"running": "billed", "stopped": "not billed"})],
resources: [(id: "vm", sessions: [(pieces: [(lasts: "10 s"), (lasts: "100 s", state: "stopped"), (lasts: "10 s")])])],
questions: [(name: "each start counts", ask: quantity(unit: "s"), expect: "120")],
"#,
    ),
    (
        "all at the last tier",
        r#"
currency: "USD",
components: [(id: "e", driver: used("e"), tiers: (kind: volume, steps: [(up_to: "10 TB", rate: "0.09 per GB"), (rate: "0.05 per GB")]))],
usage: [(meter: "e", quantity: "12000 GB")],
questions: [(name: "a", ask: amount(), expect: "600"), (name: "b", ask: amount(), read: (tb: 1024), expect: "600")],
"#,
    ),
    (
        "a TB nobody stated",
        r#"
currency: "USD",
components: [(id: "e", driver: used("e"), tiers: (steps: [(up_to: "10 TB", rate: "0.09 per GB"), (rate: "0.05 per GB")]))],
usage: [(meter: "e", quantity: "12000 GB")],
questions: [(name: "a", ask: amount(), expect: "1000 to 1009.6"), (name: "b", ask: amount(), read: (tb: 1024), expect: "1009.6")],
"#,
    ),
    (
        "tiers and allowance start again each month",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "e", driver: used("e"), allowance: (amount: "100 GB"), tiers: (steps: [(up_to: "100 GB", rate: "0.09 per GB"), (rate: "0.05 per GB")]))],
resources: [(id: "a"), (id: "b")],
usage: [(meter: "e", resource: "a", quantity: "150 GB", from: "2026-10-01", to: "2026-10-02"), (meter: "e", resource: "b", quantity: "150 GB", from: "2026-10-05", to: "2026-10-06"), (meter: "e", resource: "b", quantity: "120 GB", from: "2026-11-05", to: "2026-11-06")],
questions: [(name: "oct", ask: amount(month: "2026-10"), expect: "14"), (name: "nov", ask: amount(month: "2026-11"), expect: "1.8"), (name: "a", ask: amount(), expect: "15.8"), (name: "one", ask: amount(resources: ["a"]), expect: "no value: shared_split")],
"#,
    ),
    (
        "an allowance that grows with a disk",
        r#"
currency: "USD",
components: [(id: "store", rate: "0.02 per GB-month", month: "720 h", quantity: "200 GB"), (id: "e", rate: "0.01 per GB", driver: used("e"), allowance: (amount: "3 GB", times_of: "store"))],
resources: [(id: "s", sessions: ["720 h"])],
usage: [(meter: "e", quantity: "700 GB")],
questions: [(name: "a", ask: amount(of: ["e"]), expect: "1"), (name: "t", ask: amount(), expect: "5")],
"#,
    ),
    (
        "an allowance for each server",
        r#"
currency: "EUR",
components: [(id: "e", rate: "1 per TB", tb: 1000, driver: used("e"), allowance: (amount: "20 TB", scope: resource))],
resources: [(id: "a"), (id: "b")],
usage: [(meter: "e", resource: "a", quantity: "25 TB"), (meter: "e", resource: "b", quantity: "15 TB")],
questions: [(name: "a", ask: amount(), expect: "5"), (name: "o", ask: amount(resources: ["a"]), expect: "5"), (name: "b", ask: amount(resources: ["b"]), expect: "0")],
"#,
    ),
    (
        "a PB of 1,024 TB",
        r#"
currency: "USD",
components: [(id: "v", quantity: "1 PB", month: "720 h", tb: 1024, rate: "0.01 per GB-month")],
resources: [(id: "a", sessions: ["360 h"])],
questions: [(name: "a", ask: amount(), expect: "5242.88")],
"#,
    ),
    (
        "an allowance split by use",
        r#"
currency: "USD",
components: [(id: "e", driver: used("e"), split: by_use, rate: "0.09 per GB", allowance: (amount: "100 GB"))],
resources: [(id: "a"), (id: "b")],
usage: [(meter: "e", resource: "a", quantity: "150 GB"), (meter: "e", resource: "b", quantity: "50 GB")],
questions: [(name: "a", ask: amount(resources: ["a"]), expect: "6.75"), (name: "t", ask: amount(), expect: "9")],
"#,
    ),
    (
        "a size that is free at every moment",
        r#"
currency: "USD",
components: [(id: "v", quantity: "2000 GiB", month: "720 h", rate: "0.20 per GiB-month", allowance: (amount: "1 TiB"))],
resources: [(id: "a", sessions: ["72 h"])],
questions: [(name: "a", ask: amount(), expect: "19.52")],
"#,
    ),
    (
        "a day of 25 hours in a real month",
        r#"
currency: "EUR", zone: "Europe/Berlin",
components: [(id: "v", quantity: "100 GB", month: "real", rate: "0.745 per GB-month")],
resources: [(id: "a", sessions: [(from: "2026-10-25", to: "2026-10-26")])],
questions: [(name: "a", ask: amount(), expect: "2.5"), (name: "days", ask: quantity(unit: "GB-h"), expect: "2500")],
"#,
    ),
    (
        "a month nobody stated",
        r#"
currency: "EUR",
components: [(id: "v", quantity: "100 GB", rate: "1 per GB-month")],
resources: [(id: "a", sessions: ["24 h"])],
questions: [(name: "a", ask: amount(), expect: "240/73 to 10/3")],
"#,
    ),
    (
        "a month that is only begun",
        r#"
currency: "EUR", zone: "UTC",
components: [(id: "s", rate: "30 per month")],
resources: [(id: "a", sessions: [(from: "2026-10-17", to: "2026-11-01")])],
questions: [(name: "a", ask: amount(), expect: "450/31 to 30"), (name: "full", ask: amount(), read: (partial_month: full), expect: "30"), (name: "pro", ask: amount(), read: (month: "real", partial_month: prorated), expect: "450/31")],
"#,
    ),
    (
        "capped hours in each month",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "s", rate: "134.40 per month", month: "capped 672 h")],
resources: [(id: "a", sessions: [(from: "2026-10-01", to: "2027-01-01")])],
questions: [(name: "a", ask: amount(), expect: "403.2"), (name: "oct", ask: amount(month: "2026-10"), expect: "134.4")],
"#,
    ),
    (
        "a day of 23 hours",
        r#"
currency: "EUR", zone: "Europe/Berlin",
components: [(id: "s", rate: "1 per hour")],
resources: [(id: "a", sessions: [(from: "2026-03-29", to: "2026-03-30")])],
questions: [(name: "a", ask: amount(), expect: "23"), (name: "s", ask: sum_of(["a", "b"]), expect: "no value: counted_twice"), (name: "b", ask: amount(day: "2026-03-29", zone: "UTC"), expect: "22")],
"#,
    ),
    (
        "the hour that happens twice",
        r#"
currency: "EUR",
components: [(id: "s", rate: "1 per hour")],
resources: [(id: "a", zone: "America/New_York", sessions: [(from: "2026-11-01T01:30-04:00", to: "2026-11-01T01:30-05:00")])],
questions: [(name: "a", ask: amount(), expect: "1")],
"#,
    ),
    (
        "what goes on when it is stopped",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "gpu", rate: "2 per hour", states: {"running": "billed", "*": "not billed"}), (id: "disk", rate: "0.1 per GB-month", quantity: "720 GB", month: "720 h", states: {"*": "billed"}), (id: "ip", rate: "0.005 per hour", states: {"*": "billed"})],
resources: [(id: "a", sessions: [(from: "2026-10-01", to: "2026-10-31", pieces: [(lasts: "10 days"), (state: "stopped")])])],
questions: [(name: "a", ask: amount(), expect: "555.6"), (name: "stopped", ask: amount(states: ["stopped"]), expect: "50.4"), (name: "day", ask: amount(day: "2026-10-20"), expect: "2.52")],
"#,
    ),
    (
        "a reservation below the use",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "vm", rate: "3 per gpu-hour", quantity: "2 gpu")],
resources: [(id: "a", sessions: [(from: "2026-10-01", to: "2026-10-03")]), (id: "b", sessions: [(from: "2026-10-02", to: "2026-10-03")])],
commitments: [(id: "ri", applies_to: ["vm"], from: "2026-10-01", to: "2026-10-05", quantity: "2 gpu", rate: "1 per gpu-hour")],
questions: [(name: "cash", ask: amount(basis: cash), expect: "336"), (name: "acc", ask: amount(), expect: "336"), (name: "used", ask: commitment(id: "ri", part: used), expect: "96"), (name: "unused", ask: diagnostic(view: unused), expect: "96"), (name: "vm", ask: amount(of: ["vm"]), expect: "240"), (name: "day2", ask: amount(day: "2026-10-02"), expect: "192")],
"#,
    ),
    (
        "payments each month",
        r#"
currency: "USD", zone: "UTC",
commitments: [(id: "ri", from: "2026-01-01", to: "2027-01-01", upfront: "1200", rate: "100 per month", paid: as_used)],
questions: [(name: "cash jan", ask: amount(basis: cash, month: "2026-01"), expect: "1300"), (name: "cash", ask: amount(basis: cash), expect: "2400"), (name: "acc", ask: amount(), expect: "2400"), (name: "jan", ask: amount(month: "2026-01"), expect: "14880/73")],
"#,
    ),
    (
        "spent more than committed",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "api", rate: "10 once", quantity: "150", on: "2026-03-01")],
commitments: [(id: "c", from: "2026-01-01", to: "2027-01-01", spend: "1200", upfront: "1200")],
questions: [(name: "cash", ask: amount(basis: cash), expect: "1500"), (name: "acc", ask: amount(), expect: "1500"), (name: "sf", ask: commitment(id: "c", part: shortfall), expect: "0")],
"#,
    ),
    (
        "whole weeks paid in advance",
        r#"
currency: "USD", zone: "UTC",
commitments: [(id: "block", from: "2026-10-05", lasts: "10 days", whole: "1 week", quantity: "16 gpu", rate: "2 per gpu-hour", paid: in_advance)],
questions: [(name: "cash", ask: amount(basis: cash, day: "2026-10-05"), expect: "10752"), (name: "h", ask: quantity(of: ["block"], unit: "gpu-hour"), expect: "5376")],
"#,
    ),
    (
        "two stairs that never meet",
        r#"
currency: "USD",
plans: [(id: "api", per_unit: "0.005"), (id: "rent", fixed: "2400", capacity: "400000 requests")],
questions: [(name: "n", ask: break_even(between: ("api", "rent"), find: count), expect: "0"), (name: "c", ask: break_even(between: ("api", "rent")), expect: "no value")],
"#,
    ),
    (
        "several crossings",
        r#"
currency: "USD",
plans: [(id: "api", per_unit: "0.005"), (id: "rent", fixed: "2400", capacity: "600000 requests")],
questions: [(name: "c", ask: break_even(between: ("api", "rent"), find: crossings), expect: "480000, 600000, 960000, 1200000, 1440000, 1800000, 1920000"), (name: "cost", ask: plan_cost(plan: "rent", at: "600001 requests"), expect: "4800"), (name: "w", ask: break_even(between: ("api", "rent"), find: within_capacity), expect: "yes"), (name: "ch", ask: break_even(between: ("api", "rent"), find: cheaper, at: "500000"), expect: "rent")],
"#,
    ),
    (
        "lost work makes a unit dearer",
        r#"
currency: "USD",
plans: [(id: "spot", per_unit: "1.0", useful: "0.8"), (id: "od", per_unit: "1.3")],
questions: [(name: "c", ask: plan_cost(plan: "spot", per_unit: true, at: "8"), expect: "1.25"), (name: "ch", ask: break_even(between: ("od", "spot"), find: saving, at: "100"), expect: "5")],
"#,
    ),
    (
        "who stopped it, and what was lost",
        r#"
currency: "USD",
components: [(id: "gpu", rate: "1.2 per hour", interruption: (free_within: "1 h")), (id: "disk", rate: "0.1 per hour")],
resources: [(id: "a", sessions: [(lasts: "30 min", ended_by: provider, work: lost, attempt: 1), (lasts: "60 min", attempt: 2, ended_by: provider)])],
outcomes: [(what: "job", attempted: 2, completed: 1, accepted: 1)],
questions: [(name: "a", ask: amount(), expect: "1.35"), (name: "lost", ask: diagnostic(view: lost), expect: "0.05"), (name: "f", ask: diagnostic(view: failed), expect: "0.675"), (name: "u", ask: unit_cost(per: "accepted"), expect: "1.35"), (name: "at", ask: amount(attempts: [2]), expect: "1.3")],
"#,
    ),
    (
        "three currencies",
        r#"
zone: "UTC",
charges: [(on: "2026-10-10", amount: "100 USD"), (on: "2026-10-20", amount: "710 CNY"), (on: "2026-10-20", amount: "15000 JPY")],
exchange: [(on: "2026-10-01", one: "USD", is: "7.1 CNY"), (on: "2026-10-15", one: "USD", is: "7.2 CNY"), (one: "USD", is: "150 JPY")],
questions: [(name: "a", ask: amount(currency: "USD"), expect: "10750/36"), (name: "r", ask: amount(currency: "USD", round: ()), expect: "298.61"), (name: "n", ask: amount(), expect: "no value: mixed_currency"), (name: "e", ask: amount(currency: "EUR"), expect: "no value: missing_rate"), (name: "j", ask: convert(amount: "10.33 USD", to: "JPY", round: (mode: half_up)), expect: "1550"), (name: "early", ask: convert(amount: "1 USD", to: "CNY", on: "2026-09-01"), expect: "no value: missing_rate")],
"#,
    ),
    (
        "net out of gross",
        r#"
currency: "EUR",
charges: [(amount: "119")],
tax: (rate: "19 %", included: true, on: sum, reclaimable: true),
questions: [(name: "net", ask: amount(tax: net), expect: "100"), (name: "acc", ask: amount(), expect: "100"), (name: "cash", ask: amount(basis: cash), expect: "119"), (name: "t", ask: tax(), expect: "19")],
"#,
    ),
    (
        "tax on some lines",
        r#"
currency: "EUR",
charges: [(id: "a", amount: "100"), (id: "b", amount: "50")],
tax: (rate: "0.1", on: sum, applies_to: ["a"]),
questions: [(name: "acc", ask: amount(), expect: "150 to 160"), (name: "g", ask: amount(tax: gross), expect: "160"), (name: "b", ask: amount(of: ["b"], tax: gross), expect: "50")],
"#,
    ),
    (
        "overlap and percentage",
        r#"
currency: "EUR",
components: [(id: "a", covers: ["gpu", "disk"], rate: "1 once"), (id: "b", covers: ["disk"], rate: "2 once"), (id: "sup", category: support, rate: "10 % of a")],
questions: [(name: "t", ask: amount(), expect: "no value: overlap"), (name: "one", ask: amount(of: ["a", "sup"]), expect: "1.1")],
"#,
    ),
    (
        "seconds of video",
        r#"
currency: "USD",
components: [(id: "video", rate: "0.05 per video-s", quantity: "1 video", driver: requested)],
resources: [(id: "clip", sessions: [(lasts: "8 s", times: 10)])],
outcomes: [(what: "video", attempted: 10, accepted: 8)],
questions: [(name: "t", ask: amount(), expect: "4"), (name: "u", ask: unit_cost(per: "accepted", what: "video"), expect: "0.5")],
"#,
    ),
    (
        "kinds of outputs",
        r#"
currency: "USD",
charges: [(amount: "100")],
outcomes: [(what: "image", attempted: 100, accepted: 50, retries: 20), (what: "video", attempted: 10, accepted: 5)],
questions: [(name: "t", ask: unit_cost(per: "accepted", what: "image"), expect: "2"), (name: "k", ask: unit_cost(per: "1000 accepted", what: "video"), expect: "20000"), (name: "c", ask: count(of: "accepted"), expect: "55")],
"#,
    ),
    (
        "renewals",
        r#"
zone: "UTC",
questions: [(name: "d", ask: renewals(from: "2028-01-30", every: "1 month", count: 3), expect: "2028-02-29, 2028-03-30, 2028-04-30"), (name: "q", ask: renewals(from: "2026-11-30", every: "3 months", count: 2), expect: "2027-02-28, 2027-05-30"), (name: "w", ask: renewals(from: "2026-11-30", every: "7 days", count: 2), expect: "2026-12-07, 2026-12-14"), (name: "y", ask: renewals(from: "2028-02-29", every: "1 year", count: 2), expect: "2029-02-28, 2030-02-28")],
"#,
    ),
    (
        "calendar days over a change of clocks",
        r#"
currency: "EUR", zone: "Europe/Berlin",
components: [(id: "s", rate: "310 per month", month: "days")],
resources: [(id: "a", sessions: [(from: "2026-10-25", to_inclusive: "2026-11-15")])],
questions: [(name: "o", ask: amount(month: "2026-10"), expect: "70"), (name: "n", ask: amount(month: "2026-11"), expect: "155"), (name: "a", ask: amount(), expect: "225")],
"#,
    ),
    (
        "top-ups, gifts and expiry",
        r#"
currency: "USD", zone: "UTC",
wallet: (opening: "5", top_ups: [(amount: "50", bonus: "5", on: "2026-10-01", expires: "2026-11-01")], automatic: (below: "10", amount: "25")),
charges: [(on: "2026-10-05", amount: "48"), (on: "2026-11-05", amount: "3")],
questions: [(name: "cost", ask: wallet(part: cost), expect: "51"), (name: "cash", ask: wallet(part: cash), expect: "75"), (name: "close", ask: wallet(part: closing), expect: "27"), (name: "ca", ask: amount(basis: cash), expect: "75")],
"#,
    ),
    (
        "plan against bill",
        r#"
currency: "USD",
planned: [(bucket: "gpu", amount: "100"), (bucket: "disk", amount: "5")],
charges: [(bucket: "gpu", amount: "110"), (bucket: "tax", amount: "9", kind: tax), (bucket: "credit", amount: "-20", kind: credit)],
questions: [(name: "v", ask: reconcile(part: variance), expect: "-6"), (name: "vb", ask: reconcile(part: variance, bucket: "gpu"), expect: "10"), (name: "u", ask: reconcile(part: unplanned), expect: "-11"), (name: "ub", ask: reconcile(part: unbilled), expect: "5"), (name: "nocredit", ask: amount(kinds: [usage, tax]), expect: "119"), (name: "net", ask: amount(tax: net), expect: "90")],
"#,
    ),
    (
        "peaks and percentiles",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "d", rate: "24 per GB-month", month: "720 h", driver: peak_of_day("gb")), (id: "p", rate: "720 per Mbps-month", month: "720 h", driver: p95("bw"))],
resources: [(id: "a", sessions: [(from: "2026-10-01", to: "2026-10-02")])],
usage: [(meter: "gb", resource: "a", from: "2026-10-01", every: "6 h", samples: ["1 GB", "3 GB", "2 GB", "1 GB"]), (meter: "bw", every: "72 min", samples: ["1 Mbps","2 Mbps","3 Mbps","4 Mbps","5 Mbps","6 Mbps","7 Mbps","8 Mbps","9 Mbps","10 Mbps","11 Mbps","12 Mbps","13 Mbps","14 Mbps","15 Mbps","16 Mbps","17 Mbps","18 Mbps","19 Mbps","20 Mbps"])],
questions: [(name: "d", ask: amount(of: ["d"]), expect: "2.4"), (name: "p", ask: amount(of: ["p"]), expect: "456")],
"#,
    ),
    (
        "a price that changed",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "d", rates: [(rate: "1 per hour", until: "2026-10-02"), (rate: "2 per hour", from: "2026-10-02", until: "2026-10-03")])],
resources: [(id: "a", sessions: [(from: "2026-10-01T12:00", to: "2026-10-02T12:00")]), (id: "b", sessions: [(from: "2026-10-03", lasts: "1 h")])],
questions: [(name: "b", ask: amount(), expect: "no value: missing_price")],
"#,
    ),
    (
        "metered between events",
        r#"
currency: "USD",
components: [(id: "d", rate: "1 per hour", metered_from: "healthy", metered_to: "terminated", step: "1 min")],
resources: [(id: "a", sessions: [(from: "2026-10-01T12:00Z", to: "2026-10-01T14:00Z", events: {"healthy": "2026-10-01T12:10:30Z", "terminated": "2026-10-01T13:50:00Z"})])],
questions: [(name: "a", ask: quantity(unit: "min"), expect: "100")],
"#,
    ),
    (
        "months from the first day, in full",
        r#"
currency: "EUR", zone: "UTC",
components: [(id: "s", rate: "100 per month", month: "anniversary", partial_month: full)],
resources: [(id: "a", sessions: [(from: "2027-01-31", to: "2027-04-10")])],
questions: [(name: "a", ask: amount(), expect: "300"), (name: "feb28", ask: amount(from: "2027-02-28", to: "2027-03-31"), expect: "100")],
"#,
    ),
    (
        "months from the first day, by their part",
        r#"
currency: "EUR", zone: "UTC",
components: [(id: "s", rate: "100 per month", month: "anniversary")],
resources: [(id: "a", sessions: [(from: "2027-01-15", to: "2027-03-01")])],
questions: [(name: "a", ask: amount(), expect: "150")],
"#,
    ),
    (
        "a contract from the middle of a month",
        r#"
currency: "USD", zone: "UTC",
commitments: [(id: "p", from: "2027-01-15", to: "2027-04-15", rate: "100 per month", paid: in_advance)],
questions: [(name: "feb", ask: amount(basis: cash, month: "2027-02"), expect: "100"), (name: "apr", ask: amount(basis: cash, month: "2027-04"), expect: "0"), (name: "all", ask: amount(), expect: "300")],
"#,
    ),
    (
        "the length of a session in several units",
        r#"
currency: "USD",
components: [(id: "r", rate: "1.00/instance/h", step: "1 s")],
resources: [(id: "a", sessions: ["24 h 15 min"])],
questions: [(name: "h", ask: quantity(unit: "h"), expect: "24.25"), (name: "a", ask: amount(), expect: "24.25"), (name: "i", ask: quantity(unit: "instance-h"), expect: "24.25")],
"#,
    ),
    (
        "a use in another currency over a change of rates",
        r#"
zone: "UTC",
components: [(id: "g", rate: "7.2 CNY per hour")],
resources: [(id: "a", sessions: [(from: "2026-10-01", to: "2026-10-03")])],
exchange: [(on: "2026-10-01", one: "USD", is: "7.2 CNY"), (on: "2026-10-02", one: "USD", is: "7.5 CNY")],
questions: [(name: "a", ask: amount(currency: "USD"), expect: "47.04"), (name: "d", ask: amount(currency: "USD", day: "2026-10-02"), expect: "23.04")],
"#,
    ),
    (
        "outcomes of a month",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "g", rate: "1 per hour")],
resources: [(id: "a", sessions: [(from: "2026-10-01", to: "2026-12-01")])],
outcomes: [(accepted: 744, from: "2026-10-01", to: "2026-11-01"), (accepted: 360, from: "2026-11-01", to: "2026-12-01")],
questions: [(name: "o", ask: unit_cost(per: "accepted", month: "2026-10"), expect: "1"), (name: "n", ask: unit_cost(per: "accepted", month: "2026-11"), expect: "2"), (name: "d", ask: unit_cost(per: "accepted", day: "2026-11-02"), expect: "no value: not_recorded"), (name: "all", ask: unit_cost(per: "accepted"), expect: "61/46")],
"#,
    ),
    (
        "seconds of video",
        r#"
currency: "USD",
components: [(id: "v", category: api_usage, rate: "0.05 per s", driver: seconds("completed"))],
outcomes: [(what: "video", attempted: 12, completed: 10, accepted: 8, length: "6 s")],
questions: [(name: "a", ask: amount(), expect: "3"), (name: "u", ask: unit_cost(per: "accepted"), expect: "0.375"), (name: "s", ask: quantity(unit: "s"), expect: "60")],
"#,
    ),
    (
        "a discount before the cap",
        r#"
currency: "USD",
components: [(id: "v", rate: "2 per hour", discount: "50 %", cap: (amount: "30"))],
resources: [(id: "a", sessions: ["20 h"]), (id: "b", sessions: ["100 h"])],
questions: [(name: "a", ask: amount(), expect: "50")],
"#,
    ),
    (
        "tax as a line of the bill",
        r#"
currency: "EUR",
charges: [(amount: "500"), (amount: "95", kind: tax)],
tax: (reclaimable: true),
outcomes: [(accepted: 1000)],
questions: [(name: "c", ask: amount(), expect: "500"), (name: "u", ask: unit_cost(per: "accepted"), expect: "0.5"), (name: "cash", ask: amount(basis: cash), expect: "595"), (name: "t", ask: tax(), expect: "95")],
"#,
    ),
    (
        "an included part named alone",
        r#"
currency: "EUR",
components: [(id: "a", covers: ["gpu", "disk"], rate: "5 once"), (id: "b", covers: ["disk"], inside: "a")],
questions: [(name: "b", ask: amount(of: ["b"]), expect: "0"), (name: "t", ask: amount(), expect: "5")],
"#,
    ),
    (
        "an unknown component with its bound",
        r#"
currency: "EUR",
components: [(id: "a", rate: "5 once"), (id: "b", status: unknown), (id: "c", status: not_applicable)],
questions: [(name: "t", ask: amount(), expect: "no value: missing_price", at_least: "5")],
"#,
    ),
    (
        "dates of a bill without a zone",
        r#"
currency: "CNY",
charges: [(on: "2026-10-10", amount: "198.00")],
exchange: [(on: "2026-10-10", one: "USD", is: "7.2")],
commitments: [(id: "c", from: "2026-10-01", to: "2026-11-01", rate: "1 per hour")],
questions: [(name: "t", ask: amount(of: ["c"]), expect: "744")],
"#,
    ),
    (
        "pieces by instants",
        r#"
currency: "USD", zone: "Europe/Berlin",
components: [(id: "g", rate: "1 per hour", states: {"running": "billed", "off": "not billed"}), (id: "d", rate: "0.1 per hour", states: {"*": "billed"})],
resources: [(id: "a", sessions: [(from: "2026-10-24T22:00", to: "2026-10-25T22:00", pieces: [(state: "running"), (from: "2026-10-25T01:00", state: "off"), (from: "2026-10-25T04:00")])])],
questions: [(name: "g", ask: amount(of: ["g"]), expect: "21"), (name: "d", ask: amount(of: ["d"]), expect: "2.5"), (name: "off", ask: quantity(of: ["d"], unit: "h", states: ["off"]), expect: "4")],
"#,
    ),
    (
        "a reservation used beyond itself and a share of components",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "g", rate: "2 per gpu-hour", quantity: "4 gpu"), (id: "support", category: support, rate: "10 % of g")],
resources: [(id: "a", sessions: [(from: "2026-10-01", to: "2026-10-02")])],
commitments: [(id: "r", applies_to: ["g"], from: "2026-10-01", to: "2026-10-02", quantity: "3 gpu", rate: "1 per gpu-hour")],
questions: [(name: "g", ask: amount(of: ["g"]), expect: "120"), (name: "s", ask: amount(of: ["support"]), expect: "19.2"), (name: "r", ask: amount(of: ["r"]), expect: "0"), (name: "t", ask: amount(), expect: "139.2"), (name: "cash", ask: amount(basis: cash, of: ["g", "r"]), expect: "120")],
"#,
    ),
    (
        "a minimum fee with no use",
        r#"
currency: "USD",
components: [(id: "e", rate: "0.1 per GB", driver: used("e"), floor: (amount: "5", scope: account))],
usage: [(meter: "e", quantity: "0 GB")],
questions: [(name: "t", ask: amount(), expect: "5")],
"#,
    ),
    (
        "cost of a free period",
        r#"
currency: "USD",
components: [(id: "e", rate: "0 per hour")],
resources: [(id: "a", sessions: ["10 h"])],
outcomes: [(accepted: 50)],
questions: [(name: "u", ask: unit_cost(per: "accepted"), expect: "0")],
"#,
    ),
    (
        "hybrid with two machines",
        r#"
currency: "USD",
plans: [(id: "rent", fixed: "2.4", per_unit: "0.001", capacity: "1000"), (id: "api", per_unit: "0.005")],
questions: [(name: "t", ask: hybrid(base: "rent", peaks: "api", demand: ["500", "2500"], machines: 2), expect: "14.6"), (name: "b", ask: hybrid(base: "rent", peaks: "api", demand: ["500", "2500"], part: all_base), expect: "17.4")],
"#,
    ),
    (
        "a staircase over months",
        r#"
currency: "USD",
plans: [(id: "hour", per_unit: "3"), (id: "reserved", once: "1000", per_unit: "1"), (id: "month", per_unit_of_limit: "1.5")],
questions: [(name: "s", ask: break_even(between: ("hour", "month"), find: utilisation, limit: "730 h"), expect: "0.5"), (name: "c", ask: break_even(between: ("hour", "reserved"), find: first_whole), expect: "501"), (name: "sv", ask: break_even(between: ("hour", "reserved"), find: saving, at: "730 h"), expect: "460")],
"#,
    ),
    (
        "two units in one comparison",
        r#"
currency: "USD",
plans: [(id: "a", per_unit: "3", capacity: "100 requests"), (id: "b", fixed: "10", capacity: "50 images")],
questions: [(name: "c", ask: break_even(between: ("a", "b")), expect: "no value: unknown_unit")],
"#,
    ),
    (
        "hours of the month as days",
        r#"
currency: "USD",
plans: [(id: "a", per_unit: "1"), (id: "b", fixed: "372")],
questions: [(name: "c", ask: break_even(between: ("a", "b"), find: utilisation, limit: "31 days"), expect: "0.5")],
"#,
    ),
    (
        "undated use comes after what was paid in",
        r#"
currency: "USD", zone: "UTC",
wallet: (opening: "12", top_ups: [(amount: "50", on: "2026-10-01", times: 3)], automatic: (below: "10", amount: "50")),
charges: [(amount: "118.40")],
questions: [(name: "c", ask: wallet(part: closing), expect: "43.6"), (name: "n", ask: wallet(part: automatic_top_ups), expect: "0"), (name: "cash", ask: amount(basis: cash), expect: "150")],
"#,
    ),
    (
        "a step for each month without a calendar",
        r#"
currency: "USD",
components: [(id: "e", rate: "0.1 per GB", driver: used("e"), step: "1 GB", each: month)],
usage: [(meter: "e", quantity: "0.4 GB"), (meter: "e", quantity: "0.3 GB")],
questions: [(name: "a", ask: amount(), expect: "0.1")],
"#,
    ),
    (
        "a plan whose name begins with a digit",
        r#"
currency: "USD",
plans: [(id: "3-year", once: "100"), (id: "hour", per_unit: "1")],
questions: [(name: "c", ask: break_even(between: ("hour", "3-year"), find: cheaper, at: "200 h"), expect: "3-year"), (name: "x", ask: break_even(between: ("hour", "3-year")), expect: "100")],
"#,
    ),
    (
        "twelve places for a fraction",
        r#"
currency: "USD",
components: [(id: "e", rate: "1 per 3 GB", quantity: "20 GB")],
questions: [(name: "a", ask: amount(), expect: "6.666666666667")],
"#,
    ),
    (
        "a session in each of two regions",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "e", rate: "0.1 per GB", driver: used("e"), allowance: (amount: "10 GB", scope: region))],
resources: [(id: "a", region: "eu"), (id: "b", region: "eu"), (id: "c", region: "us")],
usage: [(meter: "e", resource: "a", quantity: "8 GB"), (meter: "e", resource: "b", quantity: "8 GB"), (meter: "e", resource: "c", quantity: "8 GB")],
questions: [(name: "a", ask: amount(), expect: "0.6"), (name: "us", ask: amount(resources: ["c"]), expect: "0"), (name: "a alone", ask: amount(resources: ["a"]), expect: "no value: shared_split")],
"#,
    ),
    (
        "whole days of a volume by the larger of request and use",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "v", rate: "0.02 per GB-day", driver: allocated("gb"), size_step: "10 GB", size_minimum: "20 GB")],
resources: [(id: "a", sessions: [(from: "2026-10-01", to: "2026-10-03")])],
usage: [(meter: "gb", resource: "a", from: "2026-10-01", every: "24 h", samples: ["5 GB", "31 GB"])],
questions: [(name: "a", ask: amount(), expect: "1.2")],
"#,
    ),
    (
        "money rounded for each session",
        r#"
currency: "USD",
components: [(id: "e", rate: "0.125 per h", round: (mode: half_up, each: session))],
resources: [(id: "a", sessions: ["1 h", "1 h"])],
questions: [(name: "a", ask: amount(), expect: "0.26"), (name: "b", ask: quantity(unit: "h"), expect: "2")],
"#,
    ),
    (
        "a reservation with a monthly price for part of a year",
        r#"
currency: "USD", zone: "Europe/Berlin",
components: [(id: "g", rate: "3 per hour", states: {"running": "billed", "stopped": "not billed"})],
resources: [(id: "a", sessions: [(from: "2026-10-01", to: "2026-11-01", pieces: [(lasts: "600 h"), (state: "stopped")])])],
commitments: [(id: "r", applies_to: ["g"], from: "2026-10-01", to: "2026-11-01", rate: "745 per month")],
questions: [(name: "u", ask: commitment(id: "r", part: used), expect: "600"), (name: "n", ask: diagnostic(view: unused), expect: "145"), (name: "s", ask: diagnostic(view: unused, share: true), expect: "29/149"), (name: "t", ask: amount(), expect: "745")],
"#,
    ),
    (
        "two reservations of one machine",
        r#"
currency: "USD", zone: "UTC",
components: [(id: "g", rate: "3 per gpu-hour", quantity: "3 gpu")],
resources: [(id: "a", sessions: [(from: "2026-10-01", to: "2026-10-02")])],
commitments: [
    (id: "r1", applies_to: ["g"], from: "2026-10-01", to: "2026-10-02", quantity: "1 gpu", rate: "1 per gpu-hour"),
    (id: "r2", applies_to: ["g"], from: "2026-10-01T12:00", to: "2026-10-02T12:00", quantity: "1 gpu", rate: "2 per gpu-hour"),
],
questions: [(name: "u1", ask: commitment(id: "r1", part: used), expect: "24"), (name: "u2", ask: commitment(id: "r2", part: used), expect: "24"), (name: "n2", ask: commitment(id: "r2", part: unused), expect: "24"), (name: "t", ask: amount(), expect: "180")],
"#,
    ),
];

/// Whatever is cut out of a case or put into it, the answer is a case or an error with its place.
#[test]
fn damaged_cases_are_told_and_never_fatal() {
    let mut seed = 20_261_130_u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let pieces = [
        "\"",
        "0",
        "-1",
        "1e9",
        "(",
        ")",
        "99999999999999999999999999",
        "month",
        "\"2026-02-30\"",
        "[]",
        "/0",
        "\u{4e2d}",
    ];
    for (name, body) in RULES {
        let text = format!("(id: \"{name}\", {body})");
        for _ in 0..60 {
            let mut chars: Vec<char> = text.chars().collect();
            let at = next(chars.len());
            let end = (at + next(9)).min(chars.len());
            chars.splice(at..end, pieces[next(pieces.len())].chars());
            let damaged: String = chars.into_iter().collect();
            if let Err(error) = cost::read_case(&damaged).and_then(|case| cost::answer(&case)) {
                assert!(error.line > 0 && error.column > 0 && !error.text.is_empty(), "{damaged}");
            }
        }
    }
}

#[test]
fn rules_give_what_was_worked_out_by_hand() {
    let mut wrong = Vec::new();
    for (name, body) in RULES {
        let text = format!("(id: \"{name}\", {body})");
        match cost::read_case(&text).and_then(|case| cost::answer(&case)) {
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(outcomes) => wrong.extend(outcomes.answers.iter().filter_map(|one| {
                one.differs.as_ref().map(|differs| format!("{name}, {}: {} {differs:?}", one.name, one.answer))
            })),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
