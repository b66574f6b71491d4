//! How debugpy is told when a breakpoint stops, and how a process is asked what it has loaded.
//! Pure text; it must not know which session it is for.

use super::{NAME, python_text, run_in};
use crate::adapter::{Conditions, Found, LoadedAs};
use daptree_model::{BreakpointId, BreakpointSpec};

/// Looks at what a process has loaded.
const REACH: &str = include_str!("../../bootstrap/reach.py");

/// Counts in the process, in the debugger's own package: the counters of pydevd begin again
/// whenever another breakpoint of the same file changes, and its hit condition is another way to
/// stop beside the condition, where the protocol wants both to hold.
const COUNT: &str = "(lambda d, k: d.__setitem__(k, d.get(k, 0) + 1) or d[k])\
    (__import__('sys').modules['_pydevd_bundle'].__dict__.setdefault('daptree_hits', {})";

/// The conditions of a breakpoint; `None` when they cannot be told yet.
pub(super) fn conditions(
    id: BreakpointId,
    spec: &BreakpointSpec,
    name: Option<&str>,
) -> Option<Conditions> {
    let mut parts = Vec::new();
    if let Some(pattern) = name {
        parts.push(name_matches(pattern)?);
    }
    parts.extend(spec.condition.clone());
    if let Some(hit) = &spec.hit_condition {
        let Some(test) = hit_test(hit) else {
            // Something of pydevd's own: its counter is asked.
            return name.is_none().then(|| Conditions {
                condition: spec.condition.clone(),
                hit_condition: Some(hit.clone()),
            });
        };
        let condition = spec.condition.as_deref().unwrap_or_default();
        let key = python_text(&format!("{id} {hit} {condition}"));
        parts.push(format!(
            "{COUNT}, ({key}, __import__('os').getpid())) {test}"
        ));
    }
    let condition = match parts.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(
            several
                .iter()
                .map(|part| format!("({part})"))
                .collect::<Vec<_>>()
                .join(" and "),
        ),
    };
    Some(Conditions {
        condition,
        hit_condition: None,
    })
}

/// What has to hold of the count, by the forms that debugpy documents: `3`, `== 3`, `>= 3`, `% 3`.
fn hit_test(text: &str) -> Option<String> {
    let text = text.trim();
    if text.parse::<i64>().is_ok() {
        return Some(format!("== {text}"));
    }
    let operators = ["==", ">=", "<=", ">", "<", "%"];
    let operator = operators
        .into_iter()
        .find(|operator| text.starts_with(operator))?;
    let number = text.strip_prefix(operator)?.trim();
    number.parse::<i64>().ok()?;
    Some(match operator {
        "%" => format!("% {number} == 0"),
        other => format!("{other} {number}"),
    })
}

/// An expression that holds where the process's own name fits.
fn name_matches(pattern: &str) -> Option<String> {
    // Patterns are of bytes, which Python's `re` writes in another way beyond ASCII.
    let pattern = pattern.strip_prefix("(?-u)").unwrap_or(pattern);
    if pattern.contains("\\x") {
        return None;
    }
    let text = python_text(pattern);
    Some(format!("__import__('re').match({text}, {NAME})"))
}

/// An expression that tells how these files are loaded.
pub(super) fn loaded_expression(files: &[String]) -> String {
    let files: Vec<String> = files.iter().map(|file| python_text(file)).collect();
    run_in(REACH, &format!("{{'asked': [{}]}}", files.join(", ")))
}

/// What came of it: hexadecimal JSON between quotes.
pub(super) fn loaded_in(value: &str) -> Option<Vec<Found>> {
    let digits = value.trim().trim_matches(['\'', '"']);
    let bytes: Option<Vec<u8>> = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    let all: Vec<(String, String, String)> = serde_json::from_slice(&bytes?).ok()?;
    all.into_iter()
        .map(|(path, how, other)| {
            let how = match how.as_str() {
                "loaded" => LoadedAs::Itself,
                "not" => LoadedAs::Nothing,
                "copy" => LoadedAs::Copy(other),
                "code" => LoadedAs::Code(other),
                "lost" => LoadedAs::Lost(other),
                _ => return None,
            };
            Some(Found { path, how })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn told(condition: Option<&str>, hit: Option<&str>, name: Option<&str>) -> Option<Conditions> {
        let spec = BreakpointSpec {
            condition: condition.map(str::to_owned),
            hit_condition: hit.map(str::to_owned),
            ..BreakpointSpec::line("/p/a.py", 3)
        };
        conditions(BreakpointId(1), &spec, name)
    }

    #[test]
    fn a_condition_alone_is_told_as_it_is() {
        assert_eq!(told(None, None, None), Some(Conditions::default()));
        let told = told(Some("n > 1"), None, None).unwrap();
        assert_eq!(told.condition.as_deref(), Some("n > 1"));
    }

    #[test]
    fn the_forms_of_a_hit_condition() {
        for (hit, test) in [
            ("3", Some("== 3")),
            (" 3 ", Some("== 3")),
            (">= 3", Some(">= 3")),
            ("<3", Some("< 3")),
            ("==3", Some("== 3")),
            ("%3", Some("% 3 == 0")),
            ("x == 3", None),
            (">", None),
            ("", None),
        ] {
            assert_eq!(hit_test(hit).as_deref(), test, "{hit}");
        }
    }

    #[test]
    fn several_conditions_have_to_hold_together_and_are_counted_last() {
        let condition = told(Some("a or b"), Some("2"), Some("(?-u)^gw[0-1]$"))
            .unwrap()
            .condition
            .unwrap();
        let (name, rest) = condition.split_once(") and (a or b) and (").unwrap();
        assert!(name.starts_with("(__import__('re').match('^gw[0-1]$', "));
        assert!(rest.starts_with("(lambda d, k:"), "{rest}");
        assert!(
            rest.ends_with("__import__('os').getpid())) == 2)"),
            "{rest}"
        );
    }

    #[test]
    fn what_cannot_be_held_yet_is_not_told() {
        assert_eq!(told(None, None, Some("(?-u)^\\xE6$")), None);
        assert_eq!(told(None, Some("x"), Some("(?-u)^a$")), None);
        let native = told(Some("a"), Some("x"), None).unwrap();
        assert_eq!(native.hit_condition.as_deref(), Some("x"));
    }

    #[test]
    fn answers_are_read_and_nonsense_is_not() {
        let text = r#"[["/p/a.py","loaded",""],["/p/b.py","copy","/q/b.py"]]"#;
        let mut hex = String::new();
        for byte in text.bytes() {
            write!(hex, "{byte:02x}").unwrap();
        }
        let all = loaded_in(&format!("'{hex}'")).unwrap();
        assert_eq!(all[1].how, LoadedAs::Copy("/q/b.py".to_owned()));
        for nonsense in ["", "''", "'5b5'", "'zz'", "None", "'7b7d'"] {
            assert_eq!(loaded_in(nonsense), None, "{nonsense}");
        }
    }
}
