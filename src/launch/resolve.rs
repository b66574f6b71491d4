//! The rules that turn typed words into a launch: which file is meant, what kind of program it
//! is, and which interpreter runs it. It must not start the program or know of the debugger.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::child;
use super::error::LaunchError;
use super::interpreter::{HowFound, Interpreter, PROBE_DEADLINE};
use super::python_args::{self, NotRunnable, PythonArgs, Target};
use super::script::{self, FirstLine, HEAD_BYTES, Kind};
use super::search::{self, Env};
use super::{Ambient, Launch, LaunchOptions};

/// The place a program is looked for in, and what was said about it.
pub(super) struct Resolver<'a> {
    python: Option<OsString>,
    settings_python: Option<&'a Path>,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
}

/// An interpreter's file and who chose it.
type Choice = (PathBuf, HowFound);

impl<'a> Resolver<'a> {
    pub(super) fn new(options: &'a LaunchOptions, ambient: &Ambient) -> Result<Self, LaunchError> {
        let mut env = ambient.env.clone();
        let cwd = match &options.cwd {
            None => ambient.cwd.clone(),
            Some(typed) => {
                let cwd = ambient
                    .cwd
                    .join(typed)
                    .canonicalize()
                    .ok()
                    .filter(|cwd| cwd.is_dir());
                let cwd = cwd.ok_or_else(|| LaunchError::MissingCwd(typed.clone()))?;
                set(&mut env, "PWD".into(), cwd.clone().into());
                cwd
            }
        };
        for (name, value) in &options.env {
            set(&mut env, name.clone(), value.clone());
        }
        let python = options.python.as_deref().map(|python| {
            // A path was typed in the user's folder, not in the program's.
            let at = is_path(python).then(|| ambient.cwd.join(python).into_os_string());
            at.unwrap_or_else(|| python.to_owned())
        });
        Ok(Self {
            python,
            settings_python: options.settings_python.as_deref(),
            cwd,
            env,
        })
    }

    pub(super) fn default_interpreter(&self) -> Result<Interpreter, LaunchError> {
        let (path, how) = self.choose(&self.cwd.join("program"), None)?;
        Interpreter::probe(&path, how, &self.env, &self.cwd)
    }

    pub(super) fn resolve(
        mut self,
        command: &OsStr,
        args: &[OsString],
    ) -> Result<Launch, LaunchError> {
        let path = self.find(command)?;
        if names_python(command, &path) {
            return self.python(command, (path, HowFound::Typed), args);
        }
        // A file of the working folder is named as typed, a command by where it was found:
        // that is how the kernel would name it to Python.
        let as_typed = is_path(command) || path == self.cwd.join(command);
        let target = if as_typed {
            command.to_owned()
        } else {
            path.clone().into_os_string()
        };
        self.file(command, &path, target, args)
    }

    /// The file a command means. A python command is looked up as a shell does; any other first
    /// in the active or the project's environment. `main.py` is a file of the working folder,
    /// and the last resort for every name.
    fn find(&self, command: &OsStr) -> Result<PathBuf, LaunchError> {
        let program = command.to_string_lossy().into_owned();
        let here = self.cwd.join(command);
        if is_path(command) {
            if !here.exists() {
                let looked = format!("{} is not there", here.display());
                return Err(LaunchError::MissingProgram { program, looked });
            }
        } else if !(has_python_suffix(command) && here.is_file()) {
            let env = Env(&self.env);
            let on_path = || search::on_path(command, env, &self.cwd);
            let in_environment = || {
                let active = env.active().map(|folder| folder.join("bin").join(command));
                let project = search::project_environment(&self.cwd)
                    .map(|folder| folder.join("bin").join(command));
                [active, project]
                    .into_iter()
                    .flatten()
                    .find(|found| search::is_executable(found))
            };
            let found = if script::is_python_name(command) {
                on_path().or_else(in_environment)
            } else {
                in_environment().or_else(on_path)
            };
            if let Some(found) = found {
                return Ok(found);
            }
            if script::is_python_name(command) && !here.exists() {
                return Err(LaunchError::MissingInterpreter {
                    interpreter: program,
                    how: "looked for on PATH and in the project's environment".to_owned(),
                });
            }
            if !here.exists() {
                let looked = format!(
                    "looked for in {}, in the active or the project's environment and on PATH",
                    self.cwd.display()
                );
                return Err(LaunchError::MissingProgram { program, looked });
            }
        }
        if here.is_dir() {
            return Err(LaunchError::Folder { program });
        }
        Ok(here)
    }

    /// A file that was named without an interpreter.
    fn file(
        &mut self,
        command: &OsStr,
        path: &Path,
        target: OsString,
        args: &[OsString],
    ) -> Result<Launch, LaunchError> {
        let program = command.to_string_lossy().into_owned();
        let is_python = has_python_suffix(path.as_os_str());
        if !is_python && !search::is_executable(path) {
            return Err(LaunchError::NotExecutable { program });
        }
        if !path.is_file() {
            // Reading a pipe would take from it what the program is to read.
            return Err(LaunchError::Unreadable {
                program,
                reason: "not a regular file".to_owned(),
            });
        }
        let kind = read_head(path).map(|head| script::classify(&head));
        let kind = kind.map_err(|error| LaunchError::Unreadable {
            program: program.clone(),
            reason: error.to_string(),
        })?;
        match kind {
            Kind::Interpreted(line) if is_python_interpreter(&line.interpreter) => {
                self.script(path, target, &line, args)
            }
            _ if is_python => {
                let choice = self.choose(path, None)?;
                self.python(command, choice, &target_words(&[], target, args))
            }
            Kind::PyenvShim(pyenv) => {
                let real = self.ask_pyenv(&pyenv, path, &program)?;
                self.file(command, &real, real.clone().into_os_string(), args)
            }
            Kind::Interpreted(line) => {
                let by = Path::new(&line.interpreter)
                    .file_name()
                    .unwrap_or(&line.interpreter);
                let what = format!("a program for {}", by.to_string_lossy());
                Err(LaunchError::NotPython { program, what })
            }
            Kind::Native => Err(LaunchError::NotPython {
                program,
                what: "a native program".to_owned(),
            }),
            Kind::Plain => Err(LaunchError::NotPython {
                program,
                what: "a file whose first line names no interpreter".to_owned(),
            }),
        }
    }

    /// A script whose first line names a Python.
    fn script(
        &mut self,
        path: &Path,
        target: OsString,
        line: &FirstLine,
        args: &[OsString],
    ) -> Result<Launch, LaunchError> {
        let choice = self.choose(path, Some(&line.interpreter))?;
        let own = matches!(choice.1, HowFound::FirstLine(_));
        let flags = if own { line.words.as_slice() } else { &[] };
        for (name, value) in &line.env {
            set(&mut self.env, name.clone(), value.clone());
        }
        self.python(
            &line.interpreter,
            choice,
            &target_words(flags, target, args),
        )
    }

    /// `words` are what follows `python`.
    fn python(
        &self,
        command: &OsStr,
        (path, how): Choice,
        words: &[OsString],
    ) -> Result<Launch, LaunchError> {
        let command = command.to_string_lossy().into_owned();
        let PythonArgs {
            flags,
            target,
            args,
        } = python_args::parse(words).map_err(|reason| match reason {
            NotRunnable::Nothing => LaunchError::NoPythonProgram {
                command: std::iter::once(command.clone())
                    .chain(words.iter().map(|word| word.to_string_lossy().into_owned()))
                    .collect::<Vec<_>>()
                    .join(" "),
            },
            NotRunnable::Mistake(what) => LaunchError::PythonUsage { command, what },
        })?;
        let (title, program) = match &target {
            Target::Module(module) => (format!("-m {}", module.to_string_lossy()), None),
            Target::Code(_) => ("-c".to_owned(), None),
            Target::File(file) => {
                let program = self.main_file(file)?;
                let name = Path::new(file).file_name().unwrap_or(file);
                (name.to_string_lossy().into_owned(), Some(program))
            }
        };
        let interpreter = Interpreter::probe(&path, how, &self.env, &self.cwd)?;
        let (cwd, env) = (self.cwd.clone(), self.env.clone());
        Ok(Launch {
            interpreter,
            flags,
            target,
            args,
            cwd,
            env,
            title,
            program,
        })
    }

    /// The file that Python will run for `file`.
    fn main_file(&self, file: &OsStr) -> Result<PathBuf, LaunchError> {
        let path = self.cwd.join(file);
        let program = file.to_string_lossy().into_owned();
        if path.is_dir() {
            let main = path.join("__main__.py");
            let found = main.is_file() || path.join("__main__.pyc").is_file();
            return if found {
                Ok(main)
            } else {
                Err(LaunchError::FolderWithoutMain { program })
            };
        }
        if !path.exists() {
            return Err(LaunchError::MissingFile {
                file: program,
                cwd: self.cwd.clone(),
            });
        }
        Ok(path)
    }

    /// Which interpreter runs a file that was named without one: `--python`, the file's first
    /// line, the settings, the active environment, the project's, `python3`.
    fn choose(&self, program: &Path, first: Option<&OsStr>) -> Result<Choice, LaunchError> {
        if let Some(python) = &self.python {
            return self.named(python, HowFound::Option);
        }
        if let Some(first) = first {
            return self.named(first, HowFound::FirstLine(program.to_path_buf()));
        }
        if let Some(python) = self.settings_python {
            return self.named(python.as_os_str(), HowFound::Settings);
        }
        if let Some(folder) = Env(&self.env).active() {
            let python = search::python_in(&folder).unwrap_or_default();
            return Ok((python, HowFound::Active(folder)));
        }
        let start = program.parent().unwrap_or(&self.cwd);
        if let Some(folder) = search::project_environment(start) {
            let python = search::python_in(&folder).unwrap_or_default();
            return Ok((python, HowFound::Project(folder)));
        }
        self.named(OsStr::new("python3"), HowFound::Path)
    }

    /// An interpreter by its path or by its name; an environment's folder stands for the one
    /// in it.
    fn named(&self, python: &OsStr, how: HowFound) -> Result<Choice, LaunchError> {
        let path = if is_path(python) {
            let path = self.cwd.join(python);
            if path.is_dir() {
                search::python_in(&path)
            } else {
                Some(path)
            }
        } else {
            search::on_path(python, Env(&self.env), &self.cwd)
        };
        match path.filter(|path| search::is_executable(path)) {
            Some(path) => Ok((path, how)),
            None => Err(LaunchError::MissingInterpreter {
                interpreter: python.to_string_lossy().into_owned(),
                how: how.to_string(),
            }),
        }
    }

    /// pyenv knows which of its versions has the command.
    fn ask_pyenv(&self, pyenv: &OsStr, shim: &Path, program: &str) -> Result<PathBuf, LaunchError> {
        let mut ask = Command::new(pyenv);
        ask.arg("which").arg(shim.file_name().unwrap_or_default());
        ask.env_clear()
            .envs(self.env.iter().cloned())
            .current_dir(&self.cwd);
        let unknown = |reason: String| LaunchError::MissingProgram {
            program: program.to_owned(),
            looked: format!("pyenv has a shim for it and says: {reason}"),
        };
        let answer = child::run(&mut ask, PROBE_DEADLINE, &mut |_| {})
            .map_err(|error| unknown(error.to_string()))?;
        let path = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        let real = Path::new(&path);
        if answer.status.success() && real.is_file() && real != shim {
            return Ok(real.to_path_buf());
        }
        Err(unknown(answer.last_words()))
    }
}

/// A name that says it, or a link to a file whose name says it.
fn is_python_interpreter(interpreter: &OsStr) -> bool {
    let real = || Path::new(interpreter).canonicalize();
    script::is_python_name(interpreter)
        || real().is_ok_and(|real| script::is_python_name(real.as_os_str()))
}

fn names_python(command: &OsStr, path: &Path) -> bool {
    if has_python_suffix(path.as_os_str()) {
        return false;
    }
    let real = || {
        path.canonicalize()
            .is_ok_and(|real| script::is_python_name(real.as_os_str()))
    };
    search::is_executable(path) && (script::is_python_name(command) || real())
}

fn is_path(command: &OsStr) -> bool {
    command.as_encoded_bytes().contains(&b'/')
}

/// Files that Python runs whatever their mode and first line say.
fn has_python_suffix(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|suffix| {
        ["py", "pyw", "pyc", "pyz"]
            .iter()
            .any(|known| suffix == *known)
    })
}

/// The words of `python FLAGS… FILE ARGS…`; `--` keeps a file that opens with a dash a file.
fn target_words(flags: &[OsString], target: OsString, args: &[OsString]) -> Vec<OsString> {
    let mut words = flags.to_vec();
    if target.as_encoded_bytes().starts_with(b"-") {
        words.push("--".into());
    }
    words.push(target);
    words.extend(args.iter().cloned());
    words
}

fn read_head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    std::fs::File::open(path)?
        .take(HEAD_BYTES)
        .read_to_end(&mut head)?;
    Ok(head)
}

fn set(env: &mut Vec<(OsString, OsString)>, name: OsString, value: OsString) {
    env.retain(|(known, _)| *known != name);
    env.push((name, value));
}
