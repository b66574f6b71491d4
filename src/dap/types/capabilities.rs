//! The handshake: what the client and the adapter can do. It must not know what follows from it.

use super::{NoBody, or_default, requests};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The protocol's `InitializeRequestArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeRequestArguments {
    #[serde(rename = "clientID")]
    pub client_id: Option<String>,
    pub client_name: Option<String>,
    #[serde(rename = "adapterID")]
    pub adapter_id: String,
    pub locale: Option<String>,
    /// Absent means true, as for columns.
    pub lines_start_at1: Option<bool>,
    pub columns_start_at1: Option<bool>,
    pub path_format: Option<String>,
    pub supports_variable_type: Option<bool>,
    pub supports_variable_paging: Option<bool>,
    pub supports_run_in_terminal_request: Option<bool>,
    pub supports_memory_references: Option<bool>,
    pub supports_progress_reporting: Option<bool>,
    pub supports_invalidated_event: Option<bool>,
    pub supports_memory_event: Option<bool>,
    pub supports_args_can_be_interpreted_by_shell: Option<bool>,
    pub supports_start_debugging_request: Option<bool>,
    #[serde(rename = "supportsANSIStyling")]
    pub supports_ansi_styling: Option<bool>,
}

/// The protocol's `ConfigurationDoneArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConfigurationDoneArguments {}

/// The protocol's `Capabilities`. `None` is "not said", which the protocol reads as "no"; the
/// difference matters to [`Capabilities::merge`].
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    pub supports_configuration_done_request: Option<bool>,
    pub supports_function_breakpoints: Option<bool>,
    pub supports_conditional_breakpoints: Option<bool>,
    pub supports_hit_conditional_breakpoints: Option<bool>,
    pub supports_evaluate_for_hovers: Option<bool>,
    pub exception_breakpoint_filters: Option<Vec<ExceptionBreakpointsFilter>>,
    pub supports_step_back: Option<bool>,
    pub supports_set_variable: Option<bool>,
    pub supports_restart_frame: Option<bool>,
    pub supports_goto_targets_request: Option<bool>,
    pub supports_step_in_targets_request: Option<bool>,
    pub supports_completions_request: Option<bool>,
    pub completion_trigger_characters: Option<Vec<String>>,
    pub supports_modules_request: Option<bool>,
    pub additional_module_columns: Option<Vec<ColumnDescriptor>>,
    pub supported_checksum_algorithms: Option<Vec<String>>,
    pub supports_restart_request: Option<bool>,
    pub supports_exception_options: Option<bool>,
    pub supports_value_formatting_options: Option<bool>,
    pub supports_exception_info_request: Option<bool>,
    pub support_terminate_debuggee: Option<bool>,
    pub support_suspend_debuggee: Option<bool>,
    pub supports_delayed_stack_trace_loading: Option<bool>,
    pub supports_loaded_sources_request: Option<bool>,
    pub supports_log_points: Option<bool>,
    pub supports_terminate_threads_request: Option<bool>,
    pub supports_set_expression: Option<bool>,
    pub supports_terminate_request: Option<bool>,
    pub supports_data_breakpoints: Option<bool>,
    pub supports_read_memory_request: Option<bool>,
    pub supports_write_memory_request: Option<bool>,
    pub supports_disassemble_request: Option<bool>,
    pub supports_cancel_request: Option<bool>,
    pub supports_breakpoint_locations_request: Option<bool>,
    pub supports_clipboard_context: Option<bool>,
    pub supports_stepping_granularity: Option<bool>,
    pub supports_instruction_breakpoints: Option<bool>,
    pub supports_exception_filter_options: Option<bool>,
    pub supports_single_thread_execution_requests: Option<bool>,
    pub supports_data_breakpoint_bytes: Option<bool>,
    pub breakpoint_modes: Option<Vec<BreakpointMode>>,
    #[serde(rename = "supportsANSIStyling")]
    pub supports_ansi_styling: Option<bool>,
    /// Capabilities that the protocol does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Capabilities {
    /// Takes over what a `capabilities` event says; what it does not name stays.
    pub fn merge(&mut self, changed: &Self) -> Result<(), serde_json::Error> {
        let mut merged = serde_json::to_value(&*self)?;
        if let (Value::Object(all), Value::Object(news)) =
            (&mut merged, serde_json::to_value(changed)?)
        {
            all.extend(news);
        }
        *self = serde_json::from_value(merged)?;
        Ok(())
    }
}

/// The protocol's `ExceptionBreakpointsFilter`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionBreakpointsFilter {
    pub filter: String,
    #[serde(default, deserialize_with = "or_default")]
    pub label: String,
    pub description: Option<String>,
    pub default: Option<bool>,
    pub supports_condition: Option<bool>,
    pub condition_description: Option<String>,
}

/// The protocol's `ColumnDescriptor`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ColumnDescriptor {
    pub attribute_name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub label: String,
    pub format: Option<String>,
    /// `string`, `number`, `boolean` or `unixTimestampUTC`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// In characters.
    pub width: Option<i64>,
}

/// The protocol's `BreakpointMode`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointMode {
    pub mode: String,
    #[serde(default, deserialize_with = "or_default")]
    pub label: String,
    pub description: Option<String>,
    /// Of `source`, `exception`, `data`, `instruction`.
    #[serde(default, deserialize_with = "or_default")]
    pub applies_to: Vec<String>,
}

requests! {
    InitializeRequestArguments: "initialize" -> Capabilities,
    ConfigurationDoneArguments: "configurationDone" -> NoBody,
}
