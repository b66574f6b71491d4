//! Journals that are written and read back: who may read them, what is not in them, what becomes of
//! a slow or a broken disk, and of a file that is none or was cut off.

use super::*;
use crate::record::Journal;
use crate::tree::{ConnectionId, Run, Seen};
use daptree_model::{
    ClientId, Command, CommandId, LaunchRequest, ProcessKey, RowId, Stdio, Stream,
};
use serde_json::json;
use std::fs;
use std::sync::mpsc::{Sender, channel};

fn header() -> Header {
    Header::new(json!({ "python": null }))
}

fn output(bytes: &[u8]) -> Entry {
    Entry::Output {
        row: RowId(1),
        stream: Stream::Terminal,
        screen: Some(RowId(1)),
        bytes: bytes.to_vec(),
    }
}

fn launch(env: &[(&str, &str)]) -> Entry {
    let request = LaunchRequest {
        stop_the_world: false,
        words: vec!["python".into(), "main.py".into()],
        cwd: "/p".into(),
        env: env
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        python: None,
        stdio: Stdio::Pipes,
        just_my_code: true,
        exceptions: Some(Vec::new()),
        stop_on_entry: false,
        max_children: 0,
        breakpoints: Vec::new(),
    };
    let command = Command {
        id: CommandId(1),
        expect: None,
        op: Op::Launch(Box::new(request)),
    };
    Entry::Input(Input::Client(ClientId(1), ToEngine::Command(command)))
}

fn message(value: serde_json::Value) -> Entry {
    let message = crate::dap::message::Message::try_from(value).unwrap();
    Entry::Input(Input::Dap(ConnectionId(7), message))
}

fn shown(entries: &[(Millis, Entry)]) -> Vec<String> {
    entries.iter().map(|entry| format!("{entry:?}")).collect()
}

/// Some of everything that a journal holds.
fn some_of_everything() -> Vec<Entry> {
    let run = Run {
        root: RowId(1),
        number: 1,
    };
    let process = ProcessKey { pid: 9, start: 4 };
    let seen = Seen {
        process,
        parent: 1,
        command: vec!["python".to_owned(), "é".to_owned()],
        short_name: "python".to_owned(),
        cwd: Some("/p".to_owned()),
    };
    vec![
        Entry::Input(Input::ClientOpened(ClientId(1))),
        launch(&[]),
        Entry::Input(Input::AdapterReady(
            run,
            crate::tree::Prepared {
                policy: crate::adapter::known("debugpy").unwrap(),
                adapter: "debugpy 1.8.22".to_owned(),
                name: "main.py".to_owned(),
                program: None,
                command: Vec::new(),
                own_streams: true,
                host: "127.0.0.1".to_owned(),
                port: 5_678,
            },
        )),
        Entry::Screen {
            root: RowId(1),
            columns: 80,
            rows: 24,
            fresh: true,
        },
        Entry::Input(Input::Described(9, vec![seen])),
        Entry::Input(Input::Gone(process, daptree_model::EndStatus::Signaled(9))),
        message(json!({ "seq": 4, "type": "event", "event": "stopped", "body": { "x": 1.5 } })),
        message(json!({
            "seq": 5, "type": "response", "request_seq": 2, "success": false, "command": "attach",
            "message": "no", "extra": [null],
        })),
        Entry::Published(3),
        output("text \u{1b}[1m\r\n".as_bytes()),
        output(b"half of \xc3"),
        Entry::Input(Input::OutputGrew(2, vec![(RowId(1), 1)])),
        Entry::Input(Input::Wake),
    ]
}

#[test]
fn what_is_written_is_read_and_nobody_else_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    fs::write(&path, "an older file").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let (recording, recorder) = Recording::start(&path, &header()).unwrap();
    let mut entries = Vec::new();
    for (at, entry) in (10..).zip(some_of_everything()) {
        recorder.record(Millis(at), entry.clone());
        entries.push((Millis(at), entry));
    }
    let written = recording.finish().unwrap();
    assert_eq!((written.entries, written.lost), (entries.len() as u64, 0));
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let journal = Journal::read(&path).unwrap();
    assert_eq!(journal.header, header());
    assert_eq!(shown(&journal.entries), shown(&entries));
    assert_eq!((journal.cut, journal.lacks()), (None, None));
    // Whoever comes late is not heard, and does no harm.
    recorder.record(Millis(99), Entry::Published(1));
}

#[test]
fn environment_values_and_tokens_are_not_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let (recording, recorder) = Recording::start(&path, &header()).unwrap();
    let env = [
        ("DEPLOY_TOKEN", "tok-abcdef123"),
        ("PLAIN", "plain-env-value"),
    ];
    recorder.record_now(launch(&env));
    let command = [
        "python",
        "pydevd.py",
        "--client-access-token",
        "c0ffee00c0ffee",
        "--file",
    ];
    recorder.record_now(message(json!({
        "seq": 1, "type": "request", "command": "startDebugging",
        "arguments": { "configuration": { "env": { "A": "dap-env-value" }, "x": command } },
    })));
    recorder.record_now(output(b"it prints tok-abcdef123 and c0ffee00c0ffee"));
    recording.finish().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    for secret in [
        "tok-abcdef123",
        "plain-env-value",
        "dap-env-value",
        "c0ffee00c0ffee",
    ] {
        assert!(!text.contains(secret), "{secret} is in {text}");
        // `OsString`s are numbers in JSON.
        let numbers: Vec<String> = secret.bytes().map(|byte| byte.to_string()).collect();
        assert!(!text.contains(&numbers.join(",")), "{secret} is in {text}");
    }
    assert_eq!(Journal::read(&path).unwrap().entries.len(), 3);
}

/// Takes bytes when it is let to.
struct Slow {
    begun: Sender<()>,
    let_go: Receiver<()>,
    file: File,
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Once the test has let go, nothing holds it any more.
        let _ = self.begun.send(());
        let _ = self.let_go.recv();
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[test]
fn a_slow_disk_holds_nobody_up_and_what_is_lost_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let file = create(&path, &header()).unwrap();
    let (begun, begins) = channel();
    let (let_go, held) = channel();
    let slow = Slow {
        begun,
        let_go: held,
        file,
    };
    let (recording, recorder) = Recording::write_to(&path, slow).unwrap();
    recorder.record(Millis(1), Entry::Published(1));
    begins.recv().unwrap();
    // The writer stands: what comes now waits, then is lost.
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..BYTES / piece.len() + 10 {
        recorder.record(Millis(2), output(&piece));
    }
    drop(let_go);
    // The next one that finds room says how many had none.
    while recorder.waiting.bytes.load(Ordering::Relaxed) > 0 {
        std::thread::yield_now();
    }
    recorder.record(Millis(3), Entry::Published(2));
    let written = recording.finish().unwrap();
    let journal = Journal::read(&path).unwrap();
    assert!(written.lost >= 10, "{written:?}");
    assert_eq!(journal.lost(), written.lost);
    let last: Vec<_> = journal
        .entries
        .iter()
        .rev()
        .take(2)
        .map(|(_, entry)| entry)
        .collect();
    assert!(
        matches!(last[..], [Entry::Published(2), Entry::Lost(_)]),
        "{last:?}"
    );
    assert!(journal.lacks().unwrap().contains("entries lost"));
}

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_and_a_folder_that_is_not_there_are_named() {
    let path = Path::new("/no/such/folder/journal");
    let (recording, recorder) = Recording::write_to(path, Full).unwrap();
    recorder.record(Millis(1), Entry::Published(1));
    for error in [
        recording.finish().unwrap_err(),
        Recording::start(path, &header()).unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(text.contains("/no/such/folder/journal") && text.contains("cannot be written"));
    }
}

/// The bytes of a small journal.
fn small() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let (recording, recorder) = Recording::start(&path, &header()).unwrap();
    for entry in some_of_everything() {
        recorder.record(Millis(5), entry);
    }
    recording.finish().unwrap();
    fs::read(&path).unwrap()
}

#[test]
fn a_journal_that_is_cut_off_anywhere_is_read_up_to_there() {
    let whole = small();
    let path = Path::new("journal");
    let all = shown(&Journal::from_bytes(&whole, path).unwrap().entries);
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap();
    for end in 0..whole.len() {
        let read = Journal::from_bytes(&whole[..end], path);
        let Ok(journal) = read else {
            assert!(end < header, "cut at byte {end}: {read:?}");
            assert!(matches!(read, Err(JournalError::NotAJournal { .. })));
            continue;
        };
        let lines = whole[..end].split(|byte| *byte == b'\n').count();
        let entries = shown(&journal.entries);
        assert_eq!(entries, all[..entries.len()], "cut at byte {end}");
        match journal.cut {
            Some(line) => assert_eq!((line, entries.len()), (lines, lines - 2)),
            // All of it is there, but for the line end maybe.
            None => assert!(whole[end] == b'\n' || whole[end - 1] == b'\n', "byte {end}"),
        }
    }
}

#[test]
fn what_is_no_journal_or_is_of_another_time_is_refused_by_name() {
    let read = |bytes: &[u8]| Journal::from_bytes(bytes, Path::new("a/file")).unwrap_err();
    for bytes in [
        &b""[..],
        b"\xff\xfe",
        b"{}\n",
        b"[1,2]\n",
        b"{\"journal\":\"other\"}\n",
    ] {
        let error = read(bytes).to_string();
        assert!(error.contains("a/file: no journal of daptree"), "{error}");
    }
    let future =
        b"{\"journal\":\"daptree\",\"format\":99,\"version\":\"7.0\",\"new\":{}}\nwhatever\n";
    let error = read(future).to_string();
    assert!(
        error.contains("format 99 (daptree 7.0 wrote it)"),
        "{error}"
    );
    let text = String::from_utf8(small()).unwrap();
    let error = read(text.replace("\"debugpy\"", "\"gdb9\"").as_bytes()).to_string();
    assert!(error.contains("knows no adapter called `gdb9`"), "{error}");
    let mut lines: Vec<&str> = text.lines().collect();
    lines[3] = "[1,{\"input\":";
    let error = read((lines.join("\n") + "\n").as_bytes()).to_string();
    assert!(error.contains("a/file:4: no entry of a journal"), "{error}");
}
