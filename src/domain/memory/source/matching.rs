//! Patterns of module names as lists of unquantised layers write them: a whole name, a part of one, `*` for anything, or
//! `re:` with a regular expression of a small kind.
//!
//! Expressions come from files of others, so they are matched without a stack and in bounded time: every state of the
//! expression is followed at once.

/// One pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// A module's whole name, or a part of it between points.
    Name(String),
    /// With `*` and `?`.
    Wild(Vec<Step>),
    /// Alternatives of an expression; matched from the beginning.
    Expression(Vec<Vec<Step>>),
}

/// One character of a name, or any number of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    what: Class,
    /// Any number of times, none included.
    many: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Any,
    Digit,
    Word,
    Is(char),
    /// The end of the name.
    End,
}

impl Class {
    fn takes(self, c: char) -> bool {
        match self {
            Self::Any => true,
            Self::Digit => c.is_ascii_digit(),
            Self::Word => c.is_ascii_alphanumeric() || c == '_',
            Self::Is(own) => own == c,
            Self::End => false,
        }
    }
}

/// The longest pattern that is read, bytes.
const MAX_PATTERN: usize = 1_000;
/// The most alternatives that one expression may come to, and their steps.
const MAX_ALTERNATIVES: usize = 200;

impl Pattern {
    /// Reads a pattern; `None` when it is of a kind that is not known.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text.len() > MAX_PATTERN {
            return None;
        }
        if let Some(expression) = text.strip_prefix("re:") {
            return alternatives(expression).map(|list| Self(Kind::Expression(list)));
        }
        if text.contains(['*', '?']) {
            let step = |c| match c {
                '*' => Step { what: Class::Any, many: true },
                '?' => Step { what: Class::Any, many: false },
                c => Step { what: Class::Is(c), many: false },
            };
            let mut steps: Vec<Step> = text.chars().map(step).collect();
            steps.push(Step { what: Class::End, many: false });
            return Some(Self(Kind::Wild(steps)));
        }
        Some(Self(Kind::Name(text.to_owned())))
    }

    /// Whether a module's name ("model.layers.3.mlp.gate") is meant.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match &self.0 {
            Kind::Name(own) => parts_match(own, name),
            // What holds for a module holds for all within it.
            Kind::Wild(steps) => {
                let outer = name.match_indices('.').filter_map(|(at, _)| name.get(..at));
                std::iter::once(name).chain(outer).any(|name| steps_match(steps, name))
            }
            Kind::Expression(list) => list.iter().any(|steps| steps_match(steps, name)),
        }
    }
}

/// Whether `own` is the name, or a run of its parts: "lm_head" and "mlp.gate" mean modules wherever they are, and
/// "gate" is not "gate_proj".
fn parts_match(own: &str, name: &str) -> bool {
    let mut from = 0;
    while let Some(at) = name.get(from..).and_then(|rest| rest.find(own)) {
        let (start, end) = (from + at, from + at + own.len());
        let left = start == 0 || name.get(..start).is_some_and(|left| left.ends_with('.'));
        let right = end == name.len() || name.get(end..).is_some_and(|right| right.starts_with('.'));
        if left && right {
            return true;
        }
        from = end;
    }
    false
}

/// Follows all positions in the pattern that the characters so far allow.
fn steps_match(steps: &[Step], name: &str) -> bool {
    let mut at = vec![false; steps.len() + 1];
    if let Some(first) = at.first_mut() {
        *first = true;
    }
    skip(steps, &mut at);
    for c in name.chars() {
        if at.last() == Some(&true) {
            return true;
        }
        let mut next = vec![false; steps.len() + 1];
        for (idx, step) in steps.iter().enumerate() {
            if at.get(idx) == Some(&true) && step.what.takes(c) {
                let to = if step.many { idx } else { idx + 1 };
                if let Some(place) = next.get_mut(to) {
                    *place = true;
                }
            }
        }
        skip(steps, &mut next);
        at = next;
    }
    let ends_here = at
        .get(..steps.len())
        .unwrap_or_default()
        .iter()
        .zip(steps)
        .enumerate()
        .any(|(idx, (on, step))| *on && step.what == Class::End && idx + 1 == steps.len());
    at.last() == Some(&true) || ends_here
}

/// A step of any number may be left out.
fn skip(steps: &[Step], at: &mut [bool]) {
    for (idx, step) in steps.iter().enumerate() {
        if step.many
            && at.get(idx) == Some(&true)
            && let Some(next) = at.get_mut(idx + 1)
        {
            *next = true;
        }
    }
}

/// An expression with its groups multiplied out: `a(b|c)d` is `abd` and `acd`.
fn alternatives(text: &str) -> Option<Vec<Vec<Step>>> {
    let chars: Vec<char> = text.chars().collect();
    let (list, end) = sequence(&chars, 0, 0)?;
    (end == chars.len()).then_some(list)
}

fn sequence(chars: &[char], mut at: usize, depth: usize) -> Option<(Vec<Vec<Step>>, usize)> {
    if depth > 5 {
        return None;
    }
    let mut done: Vec<Vec<Step>> = Vec::new();
    let mut list: Vec<Vec<Step>> = vec![Vec::new()];
    while let Some(c) = chars.get(at) {
        let atom = match c {
            ')' if depth > 0 => break,
            '|' => {
                done.append(&mut list);
                list.push(Vec::new());
                at += 1;
                continue;
            }
            '(' => {
                // `(?:` groups without remembering; other kinds of `(?` are not known.
                let skip = match (chars.get(at + 1), chars.get(at + 2)) {
                    (Some('?'), Some(':')) => 3,
                    (Some('?'), _) => return None,
                    _ => 1,
                };
                let (inner, end) = sequence(chars, at + skip, depth + 1)?;
                if chars.get(end) != Some(&')') || matches!(chars.get(end + 1), Some('*' | '+' | '{')) {
                    return None;
                }
                let mut product = Vec::new();
                let optional = chars.get(end + 1) == Some(&'?');
                let empty = [Vec::new()];
                for head in &list {
                    for tail in inner.iter().chain(if optional { empty.iter() } else { [].iter() }) {
                        product.push(head.iter().chain(tail).cloned().collect());
                    }
                }
                if product.len() > MAX_ALTERNATIVES {
                    return None;
                }
                list = product;
                at = end + if optional { 2 } else { 1 };
                continue;
            }
            '^' if at == 0 => {
                at += 1;
                continue;
            }
            '$' => Class::End,
            '.' => Class::Any,
            '\\' => {
                at += 1;
                match chars.get(at)? {
                    'd' => Class::Digit,
                    'w' => Class::Word,
                    c if c.is_ascii_alphanumeric() => return None,
                    c => Class::Is(*c),
                }
            }
            '[' => {
                // Only the set of digits is met in practice.
                let set: String = chars.get(at..at + 5)?.iter().collect();
                if set != "[0-9]" {
                    return None;
                }
                at += 4;
                Class::Digit
            }
            '*' | '+' | '?' | '{' | ']' | '}' => return None,
            c => Class::Is(*c),
        };
        at += 1;
        let times = chars.get(at);
        for steps in &mut list {
            match times {
                Some('*') => steps.push(Step { what: atom, many: true }),
                Some('+') => {
                    steps.push(Step { what: atom, many: false });
                    steps.push(Step { what: atom, many: true });
                }
                Some('?' | '{') => return None,
                _ => steps.push(Step { what: atom, many: false }),
            }
        }
        if matches!(times, Some('*' | '+')) {
            at += 1;
            // A lazy repetition finds the same names.
            if chars.get(at) == Some(&'?') {
                at += 1;
            }
        }
    }
    done.append(&mut list);
    (done.len() <= MAX_ALTERNATIVES).then_some((done, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_published_checkpoints_mean_what_they_say() {
        for (pattern, name, want) in [
            ("lm_head", "lm_head", Some(true)),
            ("lm_head", "model.lm_head_norm", Some(false)),
            ("mlp.gate", "model.layers.3.mlp.gate", Some(true)),
            ("mlp.gate", "model.layers.3.mlp.gate_proj", Some(false)),
            ("model.layers.3", "model.layers.3.mlp.up_proj", Some(true)),
            ("model.layers.3", "model.layers.30.mlp.up_proj", Some(false)),
            ("*mlp.gate*", "model.layers.3.mlp.gate_proj", Some(true)),
            ("model.layers.*.self_attn*", "model.layers.12.self_attn.q_proj", Some(true)),
            ("model.layers.*.self_attn*", "model.layers.12.mlp.up_proj", Some(false)),
            ("model.layers.*.self_attn", "model.layers.12.self_attn.q_proj", Some(true)),
            ("model.layers.*.self_attn", "model.layers.12.self_attn2.q_proj", Some(false)),
            ("re:.*self_attn.*", "model.layers.1.self_attn.o_proj", Some(true)),
            ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.0.mlp.up_proj", Some(true)),
            ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.0.mlp.experts.3.up_proj", Some(false)),
            ("re:.*mlp.gate$", "model.layers.0.mlp.gate", Some(true)),
            ("re:.*mlp.gate$", "model.layers.0.mlp.gate_proj", Some(false)),
            ("re:model\\.layers\\.\\d+\\.mlp\\.gate", "model.layers.17.mlp.gate", Some(true)),
            ("re:^visual.*", "visual.blocks.0.attn.qkv", Some(true)),
            ("re:visual.*", "model.visual.blocks.0", Some(false)),
            ("re:.*(q|k)_proj|lm_head", "lm_head", Some(true)),
            ("re:(?=x)", "x", None),
            ("re:a{3}", "aaa", None),
            ("re:(a", "a", None),
            ("", "a", None),
        ] {
            let got = Pattern::read(pattern).map(|pattern| pattern.matches(name));
            assert_eq!(got, want, "{pattern} on {name}");
        }
    }

    #[test]
    fn a_hostile_expression_costs_little() {
        let pattern = Pattern::read(&format!("re:{}b", ".*a".repeat(300))).unwrap();
        assert!(!pattern.matches(&"a".repeat(2_000)));
        assert_eq!(Pattern::read(&format!("re:{}", "(a|b)".repeat(30))), None);
        assert_eq!(Pattern::read(&format!("re:{}", "(".repeat(500))), None);
    }
}
