//! How debugpy takes a program that runs already: by the port it listens on, by its pid, or as it
//! connects. It must not know who asks, or what becomes of the session.

use super::super::{Report, SessionSettings, Whereabouts};
use daptree_model::{AttachTarget, address};
use serde_json::{Map, Value, json};

/// The pid, what names the machine's boot and the pid namespace, and debugpy's version. First it
/// undoes [`PARTING`], in case an earlier debugger left it.
pub(super) const WHEREABOUTS: &str = "[(lambda m: m and '_daptree_patching' in m.__dict__ \
    and setattr(m, '_get_apply_arg_patching', m.__dict__.pop('_daptree_patching')))\
    (__import__('sys').modules.get('_pydev_bundle.pydev_monkey')), \
    (lambda s, o, b, n: '%d %s %s %s' % (o.getpid(), \
    open(b).read().strip() if o.path.exists(b) else '-', \
    o.readlink(n) if o.path.exists(n) else '-', \
    s['debugpy'].__version__ if 'debugpy' in s else '-'))\
    (__import__('sys').modules, __import__('os'), \
    '/proc/sys/kernel/random/boot_id', '/proc/self/ns/pid')][1]";

/// pydevd rewrites what a process starts, for as long as it lives, so that children connect to the
/// adapter; one that finds no adapter there ends at once. It asks this function first.
pub(super) const PARTING: &str = "(lambda m: m and (\
    m.__dict__.setdefault('_daptree_patching', m._get_apply_arg_patching), \
    setattr(m, '_get_apply_arg_patching', lambda: False)))\
    (__import__('sys').modules.get('_pydev_bundle.pydev_monkey'))";

/// What the injector says first when it has failed.
const FAILED: &str = "Attach to PID failed.";

/// Arguments of the `attach` of a root.
pub(super) fn arguments(target: &AttachTarget, settings: &SessionSettings) -> Value {
    let mut arguments = json!({
        "type": "python",
        "request": "attach",
        "name": "root",
        "redirectOutput": settings.redirect_output,
        "justMyCode": settings.just_my_code,
        "subProcess": true,
        "showReturnValue": true,
    });
    if let Value::Object(fields) = &mut arguments {
        let (name, value) = match target {
            AttachTarget::Listening { host, port } => {
                ("connect", json!({ "host": host, "port": port }))
            }
            AttachTarget::Process { pid } => ("processId", json!(pid)),
            AttachTarget::Listen { host, port } => {
                ("listen", json!({ "host": host, "port": port }))
            }
        };
        fields.insert(name.to_owned(), value);
        add_path_maps(fields, settings);
    }
    arguments
}

/// Adds `pathMappings` where there are some.
pub(super) fn add_path_maps(fields: &mut Map<String, Value>, settings: &SessionSettings) {
    let maps: Vec<Value> = settings
        .path_maps
        .iter()
        .map(|map| json!({ "localRoot": map.local, "remoteRoot": map.remote }))
        .collect();
    if !maps.is_empty() {
        fields.insert("pathMappings".to_owned(), Value::Array(maps));
    }
}

/// What adopts a process that no one reports, by the field that names it.
pub(super) fn report(field: &str, pid: u32, host: &str, port: u16) -> Report {
    let configuration = json!({
        "type": "python",
        "name": format!("Subprocess {pid}"),
        field: pid,
        "subProcess": true,
        "showReturnValue": true,
        "connect": { "host": host, "port": port },
    });
    let mut configuration = configuration;
    if field == "processId"
        && let Value::Object(fields) = &mut configuration
    {
        fields.remove("connect");
    }
    Report {
        pid,
        host: host.to_owned(),
        port,
        configuration,
    }
}

/// Reads the value of [`WHEREABOUTS`].
pub(super) fn whereabouts_in(value: &str) -> Option<Whereabouts> {
    let mut words = value.trim().trim_matches(['\'', '"']).split(' ');
    let pid = words.next()?.parse().ok()?;
    let place = format!("{} {}", words.next()?, words.next()?);
    let debugger = words
        .next()
        .filter(|version| *version != "-")
        .map(|version| format!("debugpy {version}"));
    Some(Whereabouts {
        pid,
        place,
        debugger,
    })
}

/// The line of the injector's that says most, once it has failed.
pub(super) fn injection_failure(said: &str) -> Option<String> {
    let (_, words) = said.split_once(FAILED)?;
    let lines = || words.lines().map(str::trim).filter(|line| !line.is_empty());
    // The two come as two events: the first alone says nothing.
    lines().next()?;
    let telling = |line: &&str| {
        [
            "ptrace:",
            "not permitted",
            "not found",
            "No such",
            "Could not",
            "Can't",
        ]
        .iter()
        .any(|mark| line.contains(mark))
    };
    lines()
        .find(telling)
        .or_else(|| lines().next_back())
        .map(str::to_owned)
}

/// Whether a process runs Python, by its words and the kernel's name for it.
pub(super) fn is_python(command: &[String], short_name: &str) -> bool {
    let first = command.first().map_or("", String::as_str);
    let name = first.rsplit('/').next().unwrap_or(first);
    [name, short_name]
        .iter()
        .any(|name| name.starts_with("python") || name.starts_with("pypy"))
}

/// The address in words, for `debugpy --connect`.
pub(super) fn connect_command(host: &str, port: u16) -> String {
    // Who listens everywhere is reached by a name of this machine.
    let host = if matches!(host, "0.0.0.0" | "::") {
        "THIS_HOST"
    } else {
        host
    };
    format!(
        "python -m debugpy --connect {} PROGRAM",
        address(host, port)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use daptree_model::PathMap;

    #[test]
    fn each_target_is_asked_for_by_its_own_field() {
        let settings = SessionSettings {
            just_my_code: true,
            redirect_output: true,
            path_maps: vec![PathMap {
                local: "/here".to_owned(),
                remote: "/app".to_owned(),
            }],
        };
        let (host, port) = ("127.0.0.1".to_owned(), 5678);
        let targets = [
            (
                AttachTarget::Listening {
                    host: host.clone(),
                    port,
                },
                "connect",
                json!({ "host": "127.0.0.1", "port": 5678 }),
            ),
            (AttachTarget::Process { pid: 7 }, "processId", json!(7)),
            (
                AttachTarget::Listen { host, port },
                "listen",
                json!({ "host": "127.0.0.1", "port": 5678 }),
            ),
        ];
        for (target, field, wanted) in targets {
            let given = arguments(&target, &settings);
            assert_eq!(given[field], wanted, "{target}");
            assert_eq!(given["redirectOutput"], json!(true));
            assert_eq!(
                given["pathMappings"],
                json!([{ "localRoot": "/here", "remoteRoot": "/app" }])
            );
        }
        let plain = arguments(
            &AttachTarget::Process { pid: 7 },
            &SessionSettings::default(),
        );
        assert_eq!(plain.get("pathMappings"), None);
    }

    #[test]
    fn whereabouts_are_read() {
        let found = whereabouts_in("'12 0c4b-9 pid:[4026531836] 1.8.22'").unwrap();
        assert_eq!(
            (found.pid, found.place.as_str()),
            (12, "0c4b-9 pid:[4026531836]")
        );
        assert_eq!(found.debugger.as_deref(), Some("debugpy 1.8.22"));
        let bare = whereabouts_in("'12 - - -'").unwrap();
        assert_eq!((bare.place.as_str(), bare.debugger), ("- -", None));
        for bad in ["", "''", "None", "'x a b c'", "'12'"] {
            assert_eq!(whereabouts_in(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_telling_line_of_a_failed_injection_is_found() {
        assert_eq!(
            injection_failure("Attaching to PID: 7 (elapsed: 1.00s).\n"),
            None
        );
        assert_eq!(injection_failure("Attach to PID failed.\n\n"), None);
        let said = "Attach to PID failed.\n\n--- Starting attach to pid: 7 ---\nRunning: gdb\n\
                    ptrace: Operation not permitted.\nNo symbol table is loaded.\n";
        let found = injection_failure(said).unwrap();
        assert_eq!(found, "ptrace: Operation not permitted.");
        let said = "Attach to PID failed.\n\nsomething\nlast words\n";
        assert_eq!(injection_failure(said).unwrap(), "last words");
    }

    #[test]
    fn python_is_told_by_its_name() {
        let words = |text: &str| vec![text.to_owned()];
        assert!(is_python(&words("/v/bin/python3.11"), "x"));
        assert!(is_python(&words("gunicorn: master"), "python3"));
        assert!(!is_python(&words("/bin/bash"), "bash"));
        assert!(!is_python(&[], ""));
    }
}
