//! The report for findings that are made up.

use super::*;

fn good() -> Findings {
    Findings {
        interpreter: Ok("/v/bin/python (cpython 3.11.7), python3 on PATH".to_owned()),
        debugpy: Some(DebugpyFound::Own("1.8.22 in /v".to_owned())),
        installer: Some("pip of /v/bin/python".to_owned()),
        gdb: true,
        root: false,
        ptrace_scope: Some(0),
        kernel: "Linux 6.18.0".to_owned(),
        exit_info: true,
        terminal: TerminalFound {
            size: Some((120, 40)),
            term: "xterm-256color".to_owned(),
            colorterm: "truecolor".to_owned(),
            locale: "C.UTF-8".to_owned(),
            ..TerminalFound::default()
        },
        folders: vec![("data folder", "/d".into(), None)],
    }
}

#[test]
fn a_good_machine_is_all_ok() {
    let lines = lines(&good());
    assert_eq!(exit_status(&lines), 0);
    let expected = "\
ok interpreter: /v/bin/python (cpython 3.11.7), python3 on PATH
ok debugpy: 1.8.22 in /v, the interpreter's own
ok pip: pip of /v/bin/python
ok attach: gdb, and the kernel lets it attach
ok kernel: Linux 6.18.0, tells how every process ended
ok terminal: 120×40
ok colours: 16 million
ok mouse: by SGR reports; hold Shift to select text
ok clipboard: OSC 52
ok characters: C.UTF-8
ok data folder: /d
";
    assert_eq!(text(&lines), expected);
}

#[test]
fn every_fault_has_its_advice_and_only_needed_ones_fail() {
    type Break = fn(&mut Findings);
    let table: [(Break, &str, &str, u8); 16] = [
        (
            |f| f.interpreter = Err("python3: no such Python".to_owned()),
            "!! interpreter",
            "--python",
            1,
        ),
        (|f| f.installer = None, "!! pip", "python3-pip", 0),
        (|f| f.gdb = false, "!! attach", "install gdb", 0),
        (
            |f| f.ptrace_scope = Some(1),
            "!! attach",
            "ptrace_scope=0",
            0,
        ),
        (|f| f.ptrace_scope = Some(3), "!! attach", "boot", 0),
        (|f| f.exit_info = false, "!! kernel", "6.15", 0),
        (
            |f| f.terminal.size = None,
            "!! terminal",
            "daptree trace",
            0,
        ),
        (
            |f| f.terminal.size = Some((39, 40)),
            "!! terminal: 39×40, too small",
            "40×10",
            0,
        ),
        (
            |f| f.terminal.size = Some((79, 40)),
            "!! terminal: 79×40, tight",
            "80×24",
            0,
        ),
        (
            |f| f.terminal.term = "dumb".to_owned(),
            "!! screen: TERM is dumb",
            "xterm-256color",
            0,
        ),
        (
            |f| f.terminal.tmux = true,
            "!! clipboard",
            "set-clipboard on",
            0,
        ),
        (|f| f.terminal.screen = true, "!! clipboard", "tmux", 0),
        (
            |f| f.terminal.locale = "POSIX".to_owned(),
            "!! characters: POSIX",
            "LANG=C.UTF-8",
            0,
        ),
        (
            |f| {
                f.terminal.colorterm = String::new();
                f.terminal.term = "xterm".to_owned();
            },
            "!! colours",
            "COLORTERM",
            0,
        ),
        (
            |f| f.folders = vec![("data folder", "/d".into(), Some("denied".to_owned()))],
            "!! data folder: /d: denied",
            "DAPTREE_DATA_DIR",
            1,
        ),
        (
            |f| {
                f.debugpy = Some(DebugpyFound::None { unfit: None });
                f.installer = None;
            },
            "!! debugpy",
            "1.8.22",
            1,
        ),
    ];
    for (break_it, start, advice, status) in table {
        let mut findings = good();
        break_it(&mut findings);
        let lines = lines(&findings);
        let text = text(&lines);
        let line = text.lines().find(|line| line.starts_with(start));
        let line = line.unwrap_or_else(|| panic!("no {start:?} in {text}"));
        assert!(line.contains(advice), "{line}");
        assert_eq!(exit_status(&lines), status, "{text}");
    }
}

#[test]
fn root_may_attach_and_debugpy_may_come_later() {
    let mut findings = good();
    findings.root = true;
    findings.ptrace_scope = Some(1);
    findings.debugpy = Some(DebugpyFound::None {
        unfit: Some("1.6.0".to_owned()),
    });
    let lines = lines(&findings);
    assert!(lines.iter().all(|line| line.ok), "{}", text(&lines));
    assert!(text(&lines).contains("1.6.0") && text(&lines).contains("first run"));
}
