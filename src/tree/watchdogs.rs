//! What is known of programs that end a process which stands still for too long: whom they watch, how
//! long they wait, and how they are told to wait longer. A table over command lines; it must not
//! know rows, sessions or time.

/// Somebody who ends a process that stands still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Watchdog {
    /// What a person calls it.
    pub name: &'static str,
    /// What it does, such as `ends a worker that stands for`.
    pub deed: &'static str,
    /// After how long, in s.
    pub limit: f64,
    /// The limit stands on the command line; else it is the default, which a configuration file may
    /// have changed.
    pub is_sure: bool,
    /// The option that sets the limit.
    pub option: &'static str,
    /// The signal that it sends first; `None`: it sends none.
    pub signal: Option<&'static str>,
    /// How it is kept from that.
    pub remedy: &'static str,
}

struct Known {
    /// The program, or the module that it is run as.
    program: &'static str,
    name: &'static str,
    deed: &'static str,
    /// Options that set the limit, in s; the last one on the command line counts.
    options: &'static [&'static str],
    /// The limit without them, in s.
    default: Option<f64>,
    /// Without this option, and with a number above 1 in it where it takes one, nobody is watched.
    only_with: Option<&'static str>,
    signal: Option<&'static str>,
    remedy: &'static str,
}

/// Those that watch the processes that they start.
const PARENTS: &[Known] = &[
    Known {
        program: "gunicorn",
        name: "gunicorn",
        deed: "ends a worker that stands for",
        options: &["-t", "--timeout"],
        default: Some(30.0),
        only_with: None,
        signal: Some("SIGABRT"),
        remedy: "start it with -t 0",
    },
    Known {
        program: "uvicorn",
        name: "uvicorn",
        deed: "ends a worker that does not answer for",
        options: &["--timeout-worker-healthcheck"],
        default: Some(5.0),
        only_with: Some("--workers"),
        signal: Some("SIGKILL"),
        remedy: "start it with --timeout-worker-healthcheck 3600",
    },
    Known {
        program: "celery",
        name: "celery",
        deed: "ends a task that takes",
        options: &["--time-limit"],
        default: None,
        only_with: None,
        signal: Some("SIGKILL"),
        remedy: "start it without --time-limit",
    },
    Known {
        program: "uwsgi",
        name: "uWSGI",
        deed: "ends a worker whose request takes",
        options: &["-t", "--harakiri"],
        default: None,
        only_with: None,
        signal: Some("SIGKILL"),
        remedy: "start it without --harakiri",
    },
];

/// Those that watch the process that they run in, and so do those that they start. pytest-timeout
/// stands aside for a debugger unless it is told not to.
const THEMSELVES: &[Known] = &[Known {
    program: "pytest",
    name: "pytest-timeout",
    deed: "fails a test that takes",
    options: &["--timeout"],
    default: None,
    only_with: Some("--timeout-disable-debugger-detection"),
    signal: None,
    remedy: "start it with --timeout 0",
}];

/// Who watches a process with this command line whose parent has that one.
pub(super) fn over(own: &[String], parent: Option<&[String]>) -> Option<Watchdog> {
    let parent = parent.unwrap_or_default();
    find(PARENTS, parent)
        .or_else(|| find(THEMSELVES, parent))
        .or_else(|| find(THEMSELVES, own))
}

fn find(table: &[Known], command: &[String]) -> Option<Watchdog> {
    table.iter().find_map(|known| known.watches(command))
}

impl Known {
    fn watches(&self, command: &[String]) -> Option<Watchdog> {
        let words = self.arguments(command)?;
        if let Some(option) = self.only_with {
            let given = words
                .iter()
                .any(|word| *word == option || word.starts_with(&format!("{option}=")));
            let one = value_of(words, &[option]).is_some_and(|count| count <= 1.0);
            if !given || one {
                return None;
            }
        }
        let told = value_of(words, self.options);
        let limit = told.or(self.default).filter(|limit| *limit > 0.0)?;
        Some(Watchdog {
            name: self.name,
            deed: self.deed,
            limit,
            is_sure: told.is_some(),
            option: self.options.last().copied().unwrap_or_default(),
            signal: self.signal,
            remedy: self.remedy,
        })
    }

    /// The words after the program, where the command line runs it: as a script of its own, or
    /// `python -m`. Nothing of a user's own options is taken for it.
    fn arguments<'a>(&self, command: &'a [String]) -> Option<&'a [String]> {
        let is_program = |word: &String| {
            let file = word.rsplit('/').next().unwrap_or(word);
            file == self.program || file.strip_suffix(".py") == Some(self.program)
        };
        let at = match command.iter().position(|word| word == "-m") {
            Some(flag) if command.get(flag + 1).is_some_and(is_module(self.program)) => flag + 1,
            _ => command.iter().take(2).position(is_program)?,
        };
        command.get(at + 1..)
    }
}

fn is_module(program: &str) -> impl Fn(&String) -> bool + '_ {
    move |word| word == program || word.starts_with(&format!("{program}."))
}

/// The last number that one of these options is given: `-t 4`, `-t4`, `--timeout=4`.
fn value_of(words: &[String], options: &[&str]) -> Option<f64> {
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        for option in options {
            let Some(rest) = word.strip_prefix(option) else {
                continue;
            };
            let text = if rest.is_empty() {
                words.get(at + 1).map(String::as_str)
            } else if let Some(value) = rest.strip_prefix('=') {
                Some(value)
            } else if option.starts_with("--") {
                None
            } else {
                Some(rest)
            };
            let number = text.and_then(|text| text.parse::<f64>().ok());
            found = number.filter(|number| number.is_finite()).or(found);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn limits_of_parents() {
        for (line, wanted) in [
            ("python -m gunicorn -w 2 -t 4 wsgi:app", Some((4.0, true))),
            ("gunicorn --timeout=90 wsgi:app", Some((90.0, true))),
            ("/v/bin/python /v/bin/gunicorn -t7 a:b", Some((7.0, true))),
            ("gunicorn -t 4 -t 60 a:b", Some((60.0, true))),
            ("gunicorn wsgi:app", Some((30.0, false))),
            ("gunicorn -t 0 wsgi:app", None),
            ("gunicorn -t nan wsgi:app", Some((30.0, false))),
            ("gunicorn --timeout", Some((30.0, false))),
            ("python -m gunicorn.app.wsgiapp a:b", Some((30.0, false))),
            ("python -m uvicorn app:app --workers 4", Some((5.0, false))),
            ("uvicorn app:app --workers=2", Some((5.0, false))),
            ("uvicorn app:app --workers 1", None),
            ("uvicorn app:app", None),
            (
                "uvicorn a:b --workers 2 --timeout-worker-healthcheck 60",
                Some((60.0, true)),
            ),
            ("celery -A app worker --time-limit=20", Some((20.0, true))),
            ("celery -A app worker", None),
            ("uwsgi --http :80 --harakiri 20", Some((20.0, true))),
            ("python serve.py gunicorn -t 4", None),
            ("python -c gunicorn", None),
            ("bash -c gunicorn", None),
            ("", None),
        ] {
            let found = over(&[], Some(&words(line)));
            let found = found.map(|watchdog| (watchdog.limit, watchdog.is_sure));
            assert_eq!(found, wanted, "{line}");
        }
        assert_eq!(over(&words("gunicorn -t 4"), None), None, "the master");
    }

    #[test]
    fn pytest_timeout_stands_aside_for_a_debugger_unless_told() {
        let told = words("python -m pytest --timeout 5 --timeout-disable-debugger-detection");
        let quiet = words("python -m pytest --timeout 5");
        let worker = words("python -c import");
        assert!((over(&told, None).unwrap().limit - 5.0).abs() < f64::EPSILON);
        assert_eq!(over(&worker, Some(&told)).unwrap().name, "pytest-timeout");
        assert_eq!(over(&quiet, None), None);
        assert_eq!(over(&worker, Some(&quiet)), None);
    }
}
