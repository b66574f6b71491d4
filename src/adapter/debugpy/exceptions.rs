//! Exceptions as debugpy tells them: the chain that its traceback shows, and what a test runner
//! makes of them. It must not know when they are asked for.

use daptree_model::Cause;

/// Looks whether a test waits for what was raised.
pub(super) const EXPECTED: &str = include_str!("../../bootstrap/expected.py");

const DIRECT: &str = "\nThe above exception was the direct cause of the following exception:\n";
const DURING: &str = "\nDuring handling of the above exception, another exception occurred:\n";

/// What led to the exception whose traceback this is, the nearest first.
pub(super) fn chain(stack_trace: &str) -> Vec<Cause> {
    let (mut out, mut rest) = (Vec::new(), stack_trace);
    loop {
        let (direct, during) = (rest.rfind(DIRECT), rest.rfind(DURING));
        let is_direct = direct > during;
        let Some(at) = direct.max(during) else {
            return out;
        };
        rest = rest.get(..at).unwrap_or_default();
        let from = [DIRECT, DURING]
            .iter()
            .filter_map(|word| rest.rfind(word).map(|at| at + word.len()))
            .max()
            .unwrap_or(0);
        let block = rest.get(from..).unwrap_or_default();
        if let Some((type_name, message)) = raised_in(block) {
            out.push(Cause {
                type_name,
                message,
                is_direct,
            });
        }
    }
}

/// Whether this traceback is that of a test which is skipped, or known to fail, rather than a
/// fault. Only the traceback names a type with its module.
pub(super) fn ends_a_test(stack_trace: &str) -> bool {
    let from = [DIRECT, DURING]
        .iter()
        .filter_map(|word| stack_trace.rfind(word).map(|at| at + word.len()))
        .max()
        .unwrap_or(0);
    let raised = stack_trace.get(from..).and_then(raised_in);
    raised.is_some_and(|(type_name, _)| {
        matches!(
            type_name.as_str(),
            "Skipped"
                | "XFailed"
                | "_pytest.outcomes.Skipped"
                | "_pytest.outcomes.XFailed"
                | "_pytest.outcomes.Exit"
                | "unittest.case.SkipTest"
        )
    })
}

/// Type and message at the end of one traceback: from the first line behind its last frame that
/// is not source text.
fn raised_in(block: &str) -> Option<(String, String)> {
    let lines: Vec<&str> = block.lines().collect();
    let frame = lines.iter().rposition(|line| line.starts_with("  File "));
    let from = frame.map_or(0, |at| at + 1);
    let after = lines.get(from..)?;
    let at = after.iter().position(|line| type_of(line).is_some())?;
    let (first, more) = after.get(at..)?.split_first()?;
    let name = type_of(first)?;
    let mut message = first
        .get(name.len()..)?
        .trim_start_matches(':')
        .trim_start()
        .to_owned();
    for line in more {
        message.push('\n');
        message.push_str(line);
    }
    Some((name.to_owned(), message.trim_end().to_owned()))
}

/// The name of a type at the beginning of a line, before a colon or the line's end.
fn type_of(line: &str) -> Option<&str> {
    let name = line.split(':').next()?;
    let good = |word: &str| {
        word.starts_with(|first: char| first.is_alphabetic() || first == '_' || first == '<')
            && !word.contains(char::is_whitespace)
    };
    (!name.is_empty() && name.split('.').all(good)).then_some(name)
}

/// Whether a command line runs pytest.
pub(super) fn runs_pytest(command: &[String], name: &str) -> bool {
    let is_pytest = |word: &str| matches!(word, "pytest" | "py.test");
    let first = command.first().map(|word| super::base_name(word));
    first.is_some_and(|word| is_pytest(&word))
        || is_pytest(name)
        || command
            .windows(2)
            .any(|pair| matches!(pair, [flag, module] if flag == "-m" && is_pytest(module)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "  File \"/p/a.py\", line 3, in inner\n    {}['k']\n    ~~^^^^^\nKeyError: 'k'\n\
        \nThe above exception was the direct cause of the following exception:\n\n\
        \x20 File \"/p/a.py\", line 5, in outer\n    raise ValueError('two\\nlines') from error\n\
        ValueError: two\nlines\n\
        \nDuring handling of the above exception, another exception occurred:\n\n\
        \x20 File \"/p/a.py\", line 9, in <module>\n    raise shop.Broken()\nshop.Broken\n";

    #[test]
    fn a_chain_is_read_from_the_nearest_on() {
        let cause = |type_name: &str, message: &str, is_direct| Cause {
            type_name: type_name.to_owned(),
            message: message.to_owned(),
            is_direct,
        };
        assert_eq!(
            chain(TRACE),
            [
                cause("ValueError", "two\nlines", false),
                cause("KeyError", "'k'", true),
            ]
        );
        assert_eq!(chain("  File \"a\", line 1, in f\nValueError: x\n"), []);
        assert_eq!(chain(""), []);
        assert_eq!(chain(DIRECT), [], "nothing before it");
    }

    #[test]
    fn a_test_that_is_skipped_is_no_fault() {
        let raised =
            |type_name: &str| format!("  File \"t.py\", line 3, in t\n    x\n{type_name}: why\n");
        for (type_name, ends) in [
            ("_pytest.outcomes.Skipped", true),
            ("unittest.case.SkipTest", true),
            ("shop.Skipped", false),
            ("ValueError", false),
        ] {
            assert_eq!(ends_a_test(&raised(type_name)), ends, "{type_name}");
        }
        // What it was raised after does not count.
        let after = format!(
            "{}{DURING}\n{}",
            raised("unittest.case.SkipTest"),
            raised("KeyError")
        );
        assert!(!ends_a_test(&after));
        assert!(!ends_a_test(""));
    }

    #[test]
    fn command_lines_that_run_pytest() {
        for (command, name, runs) in [
            ("pytest -n 2", "pytest", true),
            ("/v/bin/py.test", "py.test", true),
            ("python -m pytest", "-m pytest", true),
            ("python /v/bin/pytest x.py", "pytest", true),
            ("coverage run -m pytest", "coverage", true),
            ("python app.py pytest", "app.py", false),
            ("python -m pytest_thing", "-m pytest_thing", false),
            ("", "", false),
        ] {
            let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            assert_eq!(runs_pytest(&words, name), runs, "{command}");
        }
    }
}
