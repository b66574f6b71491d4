//! What differs between debug adapters, as data and pure functions: how a session is opened, how
//! a child is reported, adopted and released, what a process is called. It must not know of
//! connections, processes or time; the tree asks, the engine carries out.

pub mod debugpy;

use crate::dap::message::{Event, Message};
use daptree_model::{AttachTarget, BreakpointId, BreakpointSpec, Cause, PathMap};
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

/// The settings of a tree that its sessions share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionSettings {
    /// Only the user's own code is debugged.
    pub just_my_code: bool,
    /// The adapter passes on what the processes print: their streams are not ours.
    pub redirect_output: bool,
    /// Folders here and what the program calls them.
    pub path_maps: Vec<PathMap>,
}

/// Where a process says that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// Its pid, in its own pid namespace.
    pub pid: u32,
    /// Names the boot of the machine and the pid namespace.
    pub place: String,
    /// The debugger in it, such as `debugpy 1.8.22`.
    pub debugger: Option<String>,
}

/// An adapter's word that a child is parked and waits for a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The child.
    pub pid: u32,
    /// Where its session is opened.
    pub host: String,
    /// Port of `host`.
    pub port: u16,
    /// The attach configuration as delivered.
    pub configuration: Value,
}

/// What a process is, judged by its command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What a person would call it.
    pub name: String,
    /// Its main file as written on the command line, where it has one.
    pub program: Option<String>,
    /// The command line without what the debugger put in.
    pub command: Vec<String>,
    /// What it is for.
    pub role: Role,
}

/// What a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user's program.
    Program,
    /// A library's machinery that starts the user's processes: adopted, since they are reported
    /// through it; it never stops.
    Forker,
    /// A library's machinery that nothing hangs on: released at once.
    Tracker,
}

/// When a breakpoint stops, as an adapter wants it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// DAP's `condition`.
    pub condition: Option<String>,
    /// DAP's `hitCondition`.
    pub hit_condition: Option<String>,
}

/// How a process has loaded a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The path that was asked for.
    pub path: String,
    /// How.
    pub how: LoadedAs,
}

/// How a source file is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadedAs {
    /// Under its own name.
    Itself,
    /// Not at all, so far.
    Nothing,
    /// This other file of the same kind is loaded in its place.
    Copy(String),
    /// Its code carries the name of this other file.
    Code(String),
    /// Its code carries this name, and there is no such file.
    Lost(String),
}

/// What the tree has to know of an adapter. Every function is pure.
pub trait Policy: Debug + Send + Sync {
    /// DAP's `adapterID`.
    fn id(&self) -> &'static str;

    /// The language of its sessions, as a user reads it.
    fn language(&self) -> &'static str;

    /// Arguments of `initialize`.
    fn initialize(&self) -> Value;

    /// Arguments of the `attach` that makes the adapter wait for a root that daptree starts.
    fn await_root(&self, settings: &SessionSettings) -> Value;

    /// Arguments of the `attach` that makes a session of a program that runs already.
    fn attach_root(&self, target: &AttachTarget, settings: &SessionSettings) -> Value;

    /// The command that makes a program connect to an adapter which listens here, for people.
    fn connect_command(&self, host: &str, port: u16) -> String;

    /// An expression that says where a process runs, and makes it ready for a debugger again
    /// after [`Self::parting_expression`].
    fn whereabouts_expression(&self) -> &'static str;

    /// What the value of [`Self::whereabouts_expression`] says.
    fn whereabouts_in(&self, value: &str) -> Option<Whereabouts>;

    /// An expression after which a process starts its children without the debugger: its adapter
    /// will be gone.
    fn parting_expression(&self) -> Option<&'static str>;

    /// What went wrong when the debugger was to be put into a process, by all that the adapter
    /// said of it so far; `None`: nothing, as far as is known.
    fn injection_failure(&self, said: &str) -> Option<String>;

    /// Whether a text is the adapter's own chat about putting the debugger into a process.
    fn is_injection_chat(&self, text: &str) -> bool;

    /// The report of a child that waits at an adapter on `host` and `port` which does not report
    /// it.
    fn unreported(&self, pid: u32, host: &str, port: u16) -> Report;

    /// The report, so to speak, of a process that the adapter on `host` and `port` is to put the
    /// debugger into.
    fn injected(&self, pid: u32, host: &str, port: u16) -> Report;

    /// Whether a process is of this adapter's language, by its command line and short name.
    fn speaks(&self, command: &[String], short_name: &str) -> bool;

    /// Where the root has to connect to, when this event says so.
    fn root_endpoint(&self, event: &Event) -> Option<(String, u16)>;

    /// The child that this message reports, if it does.
    fn report(&self, message: &Message) -> Option<Report>;

    /// Arguments of the `attach` that adopts a reported child.
    fn adopt(&self, report: &Report, settings: &SessionSettings) -> Value;

    /// What a process is, by its command line.
    fn identify(&self, command: &[String]) -> Identity;

    /// An expression that gives the name which the program itself gave to the process.
    fn name_expression(&self) -> Option<&'static str>;

    /// An expression that a child which was just adopted runs before its first line: it mends what
    /// would hold the process up, and puts streams of its own in the place of those that it
    /// inherited: pairs of the inherited one's `dev:ino:rdev` and the path of its own.
    fn settling_in(&self, streams: &[(String, String)]) -> Option<String>;

    /// The name in the value of [`Self::name_expression`]; `None` when it gave none.
    fn name_in(&self, value: &str) -> Option<String>;

    /// When a breakpoint stops, where the process's own name also has to match a regular
    /// expression if one is given; `None` when the adapter cannot hold such a condition.
    fn conditions(
        &self,
        id: BreakpointId,
        spec: &BreakpointSpec,
        name: Option<&str>,
    ) -> Option<Conditions>;

    /// A function's name as `setFunctionBreakpoints` takes it, or why it cannot be one.
    fn function_name_for<'a>(&self, name: &'a str) -> Result<&'a str, String>;

    /// An expression, without a frame, that tells how the process has loaded these files.
    fn loaded_expression(&self, files: &[String]) -> Option<String>;

    /// What the value of [`Self::loaded_expression`] says; `None` where it says nothing.
    fn loaded_in(&self, value: &str) -> Option<Vec<Found>>;

    /// Exception filters that a program with this command line suggests by itself; empty for most.
    fn suggested_filters(&self, command: &[String]) -> Vec<String>;

    /// What led to an exception, the nearest first, by DAP's `ExceptionDetails.stackTrace`.
    fn exception_chain(&self, stack_trace: &str) -> Vec<Cause>;

    /// A function's name without marks of the adapter.
    fn function_name<'a>(&self, name: &'a str) -> &'a str;

    /// The bare type name in an `exceptionId`.
    fn exception_type(&self, exception_id: &str) -> String;

    /// Whether this request is carried out by the thread that is stopped, which takes one at a
    /// time: a second one that is sent before the first was answered waits for a poll of the
    /// adapter's.
    fn is_one_at_a_time(&self, command: &str, arguments: &Value) -> bool;

    /// Whether an exception is how a program ends rather than a fault, so that no filter but
    /// `raised` should stop at it: by DAP's `exceptionId`.
    fn is_exit(&self, exception_id: &str) -> bool;

    /// The same of a test that is skipped or known to fail, by DAP's
    /// `ExceptionDetails.stackTrace`.
    fn ends_a_test(&self, stack_trace: &str) -> bool;

    /// An expression, in the frame of a stop at an exception, that holds where a test waits for
    /// this very exception.
    fn expected_expression(&self) -> Option<String>;

    /// Whether the value of [`Self::expected_expression`] says so.
    fn is_expected(&self, value: &str) -> bool;

    /// Whether a refused `attach` is worth another try, because the adapter still holds the
    /// process's connection from before its `exec`.
    fn is_still_held(&self, refusal: &str) -> bool;

    /// Whether this command line is that of a process which is about to be reported.
    fn will_report(&self, command: &[String]) -> bool;
}

/// The policy of this id.
pub fn known(id: &str) -> Option<Arc<dyn Policy>> {
    let policies: [Arc<dyn Policy>; 1] = [Arc::new(debugpy::Debugpy)];
    policies.into_iter().find(|policy| policy.id() == id)
}

/// A policy as serde has it: its id.
pub mod by_id {
    use super::Policy;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::sync::Arc;

    /// Writes the id.
    pub fn serialize<S: Serializer>(policy: &Arc<dyn Policy>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(policy.id())
    }

    /// Finds the policy of an id; one that this daptree does not know is refused by name.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<dyn Policy>, D::Error> {
        let id = String::deserialize(from)?;
        super::known(&id)
            .ok_or_else(|| D::Error::custom(format!("this daptree knows no adapter called `{id}`")))
    }
}
