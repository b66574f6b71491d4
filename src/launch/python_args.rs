//! The command line of Python itself: where its flags end and what they run. It follows
//! the reference implementation's own rules and must not know of files or of the debugger.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// What a command line of Python runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file, a folder or an archive with a `__main__.py`, as typed.
    File(OsString),
    /// `-m NAME`.
    Module(OsString),
    /// `-c CODE`.
    Code(OsString),
}

/// A command line of Python, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonArgs {
    /// The interpreter's flags as typed, without what names the target.
    pub flags: Vec<OsString>,
    /// What runs.
    pub target: Target,
    /// The words after it.
    pub args: Vec<OsString>,
}

/// Why a command line of Python runs nothing that could be debugged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRunnable {
    /// No target, or one that comes over standard input, or a flag that only prints.
    Nothing,
    /// A mistake that Python itself would refuse, in words.
    Mistake(String),
}

/// Takes apart the words after `python`.
pub fn parse(words: &[OsString]) -> Result<PythonArgs, NotRunnable> {
    let mut flags = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let bytes = word.as_bytes();
        if bytes == b"--" {
            return match rest.next() {
                Some(file) => file_target(flags, file, rest.as_slice()),
                None => Err(NotRunnable::Nothing),
            };
        }
        if bytes == b"-" || bytes.first() != Some(&b'-') {
            return file_target(flags, word, rest.as_slice());
        }
        if bytes.starts_with(b"--") {
            long_flag(word, &mut rest, &mut flags)?;
            continue;
        }
        match short_flags(bytes)? {
            Short::Plain => flags.push(word.clone()),
            Short::TakesNext(name) => {
                let value = next_word(&mut rest, &format!("-{name}"))?;
                flags.extend([word.clone(), value]);
            }
            Short::Target {
                name,
                before,
                joined,
            } => {
                if !before.is_empty() {
                    flags.push(flag_word(before));
                }
                let value = match joined {
                    Some(joined) => OsStr::from_bytes(joined).to_owned(),
                    None => next_word(&mut rest, &format!("-{name}"))?,
                };
                let target = if name == 'm' {
                    Target::Module(value)
                } else {
                    Target::Code(value)
                };
                return Ok(PythonArgs {
                    flags,
                    target,
                    args: rest.as_slice().to_vec(),
                });
            }
        }
    }
    Err(NotRunnable::Nothing)
}

enum Short<'a> {
    Plain,
    TakesNext(char),
    Target {
        name: char,
        before: &'a [u8],
        joined: Option<&'a [u8]>,
    },
}

/// Reads one word of short flags, such as `-u`, `-OO`, `-Werror`, `-Om` or `-mpytest`.
fn short_flags(word: &[u8]) -> Result<Short<'_>, NotRunnable> {
    let letters = word.get(1..).unwrap_or_default();
    for (at, letter) in letters.iter().enumerate() {
        let after = letters.get(at + 1..).filter(|after| !after.is_empty());
        match letter {
            b'm' | b'c' => {
                let before = letters.get(..at).unwrap_or_default();
                return Ok(Short::Target {
                    name: char::from(*letter),
                    before,
                    joined: after,
                });
            }
            b'W' | b'X' | b'Q' if after.is_none() => {
                return Ok(Short::TakesNext(char::from(*letter)));
            }
            b'W' | b'X' | b'Q' => return Ok(Short::Plain),
            b'h' | b'?' | b'V' => return Err(NotRunnable::Nothing),
            b'b' | b'B' | b'd' | b'E' | b'i' | b'I' | b'O' | b'P' | b'q' | b'R' | b's' | b'S'
            | b't' | b'u' | b'v' | b'x' | b'3' => {}
            other => {
                let text = format!("there is no flag -{}", char::from(*other).escape_debug());
                return Err(NotRunnable::Mistake(text));
            }
        }
    }
    Ok(Short::Plain)
}

fn long_flag(
    word: &OsStr,
    rest: &mut std::slice::Iter<'_, OsString>,
    flags: &mut Vec<OsString>,
) -> Result<(), NotRunnable> {
    const TAKES_NEXT: &[u8] = b"--check-hash-based-pycs";
    let name = word.as_bytes();
    if name == TAKES_NEXT {
        let value = next_word(rest, "--check-hash-based-pycs")?;
        flags.extend([word.to_owned(), value]);
        return Ok(());
    }
    let prints = [
        &b"--version"[..],
        b"--help",
        b"--help-all",
        b"--help-env",
        b"--help-xoptions",
    ];
    if prints.contains(&name) {
        return Err(NotRunnable::Nothing);
    }
    if name.starts_with(b"--jit") {
        // PyPy's way to set its compiler.
        flags.push(word.to_owned());
        if name == b"--jit" {
            flags.push(next_word(rest, "--jit")?);
        }
        return Ok(());
    }
    Err(NotRunnable::Mistake(format!(
        "there is no flag {}",
        word.to_string_lossy()
    )))
}

fn next_word(
    rest: &mut std::slice::Iter<'_, OsString>,
    flag: &str,
) -> Result<OsString, NotRunnable> {
    rest.next()
        .cloned()
        .ok_or_else(|| NotRunnable::Mistake(format!("{flag} lacks its word")))
}

fn flag_word(letters: &[u8]) -> OsString {
    let mut word = b"-".to_vec();
    word.extend_from_slice(letters);
    OsString::from_vec(word)
}

fn file_target(
    flags: Vec<OsString>,
    file: &OsStr,
    args: &[OsString],
) -> Result<PythonArgs, NotRunnable> {
    if file == "-" {
        return Err(NotRunnable::Nothing);
    }
    Ok(PythonArgs {
        flags,
        target: Target::File(file.to_owned()),
        args: args.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &[&str]) -> Result<PythonArgs, NotRunnable> {
        parse(&line.iter().map(OsString::from).collect::<Vec<_>>())
    }

    /// Typed, flags, target, arguments.
    type Row<'a> = (&'a [&'a str], &'a [&'a str], Target, &'a [&'a str]);

    #[test]
    fn flags_end_where_python_ends_them() {
        let file = |name: &str| Target::File(name.into());
        let module = |name: &str| Target::Module(name.into());
        let code = |text: &str| Target::Code(text.into());
        let table: Vec<Row<'_>> = vec![
            (&["main.py", "-m", "x"], &[], file("main.py"), &["-m", "x"]),
            (&["-u", "main.py", "-u"], &["-u"], file("main.py"), &["-u"]),
            (
                &["-X", "utf8", "-Xdev", "m.py"],
                &["-X", "utf8", "-Xdev"],
                file("m.py"),
                &[],
            ),
            (
                &["-W", "error", "-Wd", "m.py"],
                &["-W", "error", "-Wd"],
                file("m.py"),
                &[],
            ),
            (
                &["-uX", "utf8", "m.py"],
                &["-uX", "utf8"],
                file("m.py"),
                &[],
            ),
            (
                &["-OO", "-I", "-E", "-S", "-B", "-bb", "-P", "-q", "m.py"],
                &["-OO", "-I", "-E", "-S", "-B", "-bb", "-P", "-q"],
                file("m.py"),
                &[],
            ),
            (
                &["-m", "pytest", "-n", "2"],
                &[],
                module("pytest"),
                &["-n", "2"],
            ),
            (&["-mpytest", "-q"], &[], module("pytest"), &["-q"]),
            (&["-Om", "pytest"], &["-O"], module("pytest"), &[]),
            (&["-Ommod"], &["-O"], module("mod"), &[]),
            (&["-c", "print(1)", "-c"], &[], code("print(1)"), &["-c"]),
            (&["-Ic", "x"], &["-I"], code("x"), &[]),
            (&["-cprint(1)"], &[], code("print(1)"), &[]),
            (&["-c", ""], &[], code(""), &[]),
            (&["-c", "--", "a"], &[], code("--"), &["a"]),
            (&["--", "-odd.py", "--"], &[], file("-odd.py"), &["--"]),
            (
                &["--check-hash-based-pycs", "never", "m.py"],
                &["--check-hash-based-pycs", "never"],
                file("m.py"),
                &[],
            ),
            (&["-i", "m.py"], &["-i"], file("m.py"), &[]),
            (
                &["--jit", "off", "m.py"],
                &["--jit", "off"],
                file("m.py"),
                &[],
            ),
        ];
        for (line, flags, target, args) in table {
            let all = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
            let expected = PythonArgs {
                flags: all(flags),
                target,
                args: all(args),
            };
            assert_eq!(split(line), Ok(expected), "{line:?}");
        }
    }

    #[test]
    fn what_runs_nothing_is_told_apart() {
        for line in [
            &[][..],
            &["-u"],
            &["-"],
            &["--"],
            &["-V"],
            &["--version"],
            &["-h"],
            &["-i"],
        ] {
            assert_eq!(split(line), Err(NotRunnable::Nothing), "{line:?}");
        }
        for (line, flag) in [
            (&["-m"][..], "-m"),
            (&["-c"], "-c"),
            (&["-X"], "-X"),
            (&["-uW"], "-W"),
            (&["--check-hash-based-pycs"], "--check-hash-based-pycs"),
            (&["-k", "m.py"], "-k"),
            (&["--bogus", "m.py"], "--bogus"),
        ] {
            let Err(NotRunnable::Mistake(text)) = split(line) else {
                panic!("{line:?}")
            };
            assert!(text.contains(flag), "{text}");
        }
    }

    #[test]
    fn words_that_are_not_utf8_pass() {
        let odd = OsString::from_vec(vec![b'-', b'c', 0xff]);
        let parsed = parse(&[odd.clone(), odd.clone()]).unwrap();
        assert_eq!(parsed.target, Target::Code(OsString::from_vec(vec![0xff])));
        assert_eq!(parsed.args, [odd]);
        let flag = OsString::from_vec(vec![b'-', 0xff]);
        assert!(matches!(parse(&[flag]), Err(NotRunnable::Mistake(_))));
    }
}
