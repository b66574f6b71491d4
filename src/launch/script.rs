//! What kind of program a file is, told from its first bytes: its `#!` line, the two-line form
//! that pip writes for long paths, or none. It is pure: it must not look at the file system.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

/// How many bytes of a file [`classify`] wants to see.
pub const HEAD_BYTES: u64 = 4096;

/// What the first bytes of a program say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The file names its interpreter.
    Interpreted(FirstLine),
    /// A shim of pyenv, which only looks up the real program; the path of pyenv is inside.
    PyenvShim(OsString),
    /// A program for the machine itself.
    Native,
    /// Nothing that the kernel would start.
    Plain,
}

/// The interpreter a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstLine {
    /// A path, or a name to be looked up on PATH when it was given to `env`.
    pub interpreter: OsString,
    /// Words between it and the file.
    pub words: Vec<OsString>,
    /// Variables set by `env NAME=VALUE`.
    pub env: Vec<(OsString, OsString)>,
}

/// Tells what a program is from its first [`HEAD_BYTES`] bytes.
pub fn classify(head: &[u8]) -> Kind {
    const NATIVE: [&[u8]; 6] = [
        b"\x7fELF",
        b"\xcf\xfa\xed\xfe",
        b"\xce\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
        b"\xca\xfe\xba\xbf",
        b"MZ",
    ];
    if NATIVE.iter().any(|magic| head.starts_with(magic)) {
        return Kind::Native;
    }
    let Some(after) = head.strip_prefix(b"#!") else {
        return Kind::Plain;
    };
    let mut lines = after.split(|byte| *byte == b'\n');
    let words = split_words(lines.next().unwrap_or_default());
    let second = lines.next().unwrap_or_default();
    if let Some(exec) = second
        .strip_prefix(b"'''exec' ")
        .or(second.strip_prefix(b"\"exec\" "))
    {
        return long_form(exec);
    }
    if let Some(pyenv) = pyenv_shim(head) {
        return Kind::PyenvShim(pyenv);
    }
    let mut words = words.into_iter();
    match words.next() {
        None => Kind::Plain,
        Some(first) if base_name(&first) == b"env" => through_env(words.collect()),
        Some(interpreter) => Kind::Interpreted(FirstLine {
            interpreter,
            words: words.collect(),
            env: Vec::new(),
        }),
    }
}

/// Whether a name is one that Python interpreters have: `python`, `python3.11`, `pypy3`.
pub fn is_python_name(name: &OsStr) -> bool {
    let name = base_name(name);
    let rest = ["python", "pypy"]
        .iter()
        .find_map(|stem| name.strip_prefix(stem.as_bytes()));
    let Some(rest) = rest else { return false };
    let rest = rest.strip_suffix(b"-dbg").unwrap_or(rest);
    let rest = rest.strip_prefix(b"w").unwrap_or(rest);
    let digits = rest
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
        .count();
    let flags = rest.get(digits..).unwrap_or_default();
    // `t` free-threaded, `d` debug, `m` and `u` of old builds; only after a version.
    flags.is_empty() || digits > 0 && flags.iter().all(|flag| b"tdmu".contains(flag))
}

fn base_name(path: &OsStr) -> &[u8] {
    path.as_bytes()
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default()
}

/// `'''exec' "/long path/python" -u "$0" "$@"`: pip's form for paths that no `#!` line takes.
fn long_form(exec: &[u8]) -> Kind {
    let mut words = split_words(exec).into_iter();
    let Some(interpreter) = words.next() else {
        return Kind::Plain;
    };
    let words = words.take_while(|word| word != "$0").collect();
    Kind::Interpreted(FirstLine {
        interpreter,
        words,
        env: Vec::new(),
    })
}

/// What `env` runs: its own flags and assignments, then the interpreter.
fn through_env(words: Vec<OsString>) -> Kind {
    let mut env = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        if let Some(joined) = bytes
            .strip_prefix(b"-S")
            .filter(|joined| !joined.is_empty())
        {
            let mut all = vec![OsStr::from_bytes(joined).to_owned()];
            all.extend(words);
            return through_env_after(env, all);
        }
        if bytes.starts_with(b"-") {
            // `-S` and `--split-string` changed nothing more: the words are already split.
            continue;
        }
        let mut all = vec![word];
        all.extend(words);
        return through_env_after(env, all);
    }
    env.clear();
    Kind::Plain
}

fn through_env_after(mut env: Vec<(OsString, OsString)>, words: Vec<OsString>) -> Kind {
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        let Some(at) = bytes.iter().position(|byte| *byte == b'=') else {
            return Kind::Interpreted(FirstLine {
                interpreter: word,
                words: words.collect(),
                env,
            });
        };
        let (name, value) = bytes.split_at(at);
        let value = OsStr::from_bytes(value.get(1..).unwrap_or_default());
        env.push((OsStr::from_bytes(name).to_owned(), value.to_owned()));
    }
    Kind::Plain
}

/// `exec "/home/me/.pyenv/libexec/pyenv" exec "$program" "$@"`: gives pyenv's path.
fn pyenv_shim(head: &[u8]) -> Option<OsString> {
    let line = head
        .split(|byte| *byte == b'\n')
        .find(|line| line.starts_with(b"exec ") && line.ends_with(b"exec \"$program\" \"$@\""))?;
    let pyenv = split_words(line).into_iter().nth(1)?;
    (base_name(&pyenv) == b"pyenv").then_some(pyenv)
}

/// Words as a shell splits them, as far as first lines need it: blanks and both quotes.
fn split_words(line: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    for byte in line.strip_suffix(b"\r").unwrap_or(line) {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (None, b'"' | b'\'') => {
                quote = Some(*byte);
                word.get_or_insert_default();
            }
            (None, b' ' | b'\t') => words.extend(word.take()),
            (_, byte) => word.get_or_insert_default().push(*byte),
        }
    }
    words.extend(word);
    words
        .iter()
        .map(|word| OsStr::from_bytes(word).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_name_their_interpreter() {
        let table: &[(&str, &str, &[&str])] = &[
            ("#!/usr/bin/python3\n", "/usr/bin/python3", &[]),
            ("#! /usr/bin/python3 -u\n", "/usr/bin/python3", &["-u"]),
            ("#!/path/with/python -x", "/path/with/python", &["-x"]),
            ("#!/usr/bin/env python3\r\nx", "python3", &[]),
            (
                "#!/usr/bin/env -S python3 -u -X dev\n",
                "python3",
                &["-u", "-X", "dev"],
            ),
            ("#!/usr/bin/env -Spython3 -u\n", "python3", &["-u"]),
            ("#!/bin/bash\necho", "/bin/bash", &[]),
            (
                "#!/bin/sh\n'''exec' \"/long path/python\" \"$0\" \"$@\"\n' '''\n",
                "/long path/python",
                &[],
            ),
            (
                "#!/bin/sh\n'''exec' /a/python3 -I \"$0\" \"$@\"\n' '''\n",
                "/a/python3",
                &["-I"],
            ),
            (
                "#!/bin/sh\n'''exec' '/a b/python3' \"$0\" \"$@\"\n' '''\n",
                "/a b/python3",
                &[],
            ),
        ];
        for (head, interpreter, words) in table {
            let Kind::Interpreted(line) = classify(head.as_bytes()) else {
                panic!("{head}")
            };
            assert_eq!(line.interpreter, *interpreter, "{head}");
            assert_eq!(
                line.words,
                words.iter().map(OsString::from).collect::<Vec<_>>(),
                "{head}"
            );
        }
        let Kind::Interpreted(line) = classify(b"#!/usr/bin/env -S A=1 B= python3 -u\n") else {
            panic!()
        };
        let env: Vec<(OsString, OsString)> =
            vec![("A".into(), "1".into()), ("B".into(), "".into())];
        assert_eq!((line.interpreter, line.env), ("python3".into(), env));
    }

    #[test]
    fn other_files_are_told_apart() {
        let shim = b"#!/usr/bin/env bash\nset -e\nprogram=\"${0##*/}\"\nexec \"/r/.pyenv/libexec/pyenv\" exec \"$program\" \"$@\"\n";
        assert_eq!(
            classify(shim),
            Kind::PyenvShim("/r/.pyenv/libexec/pyenv".into())
        );
        assert_eq!(classify(b"\x7fELF\x02"), Kind::Native);
        for plain in [
            &b""[..],
            b"#!",
            b"#!\n",
            b"print(1)\n",
            b"#!/usr/bin/env\n",
            b"#!/usr/bin/env -S A=1",
        ] {
            assert_eq!(classify(plain), Kind::Plain, "{plain:?}");
        }
    }

    #[test]
    fn names_of_python() {
        for name in [
            "python",
            "python3",
            "python3.11",
            "/a/b/python3.13t",
            "pypy3",
            "pypy3.10",
            "pypy",
            "python3-dbg",
            "python3.12d",
            "pythonw",
        ] {
            assert!(is_python_name(OsStr::new(name)), "{name}");
        }
        for name in [
            "pytest",
            "python-config",
            "python3.11-config",
            "pythonista",
            "node",
            "pypyx",
            "",
        ] {
            assert!(!is_python_name(OsStr::new(name)), "{name}");
        }
    }
}
