//! Memory and machine instructions. It must not know how either is shown.

use super::{Source, or_default, requests};
use serde::{Deserialize, Serialize};

/// The protocol's `ReadMemoryArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadMemoryArguments {
    pub memory_reference: String,
    /// In bytes.
    pub offset: Option<i64>,
    /// In bytes.
    pub count: i64,
}

/// The body of the protocol's `ReadMemoryResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadMemoryResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub address: String,
    /// Bytes after the data that cannot be read.
    pub unreadable_bytes: Option<i64>,
    /// In base64.
    pub data: Option<String>,
}

/// The protocol's `WriteMemoryArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteMemoryArguments {
    pub memory_reference: String,
    pub offset: Option<i64>,
    pub allow_partial: Option<bool>,
    /// In base64.
    pub data: String,
}

/// The body of the protocol's `WriteMemoryResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteMemoryResponse {
    pub offset: Option<i64>,
    pub bytes_written: Option<i64>,
}

/// The protocol's `DisassembleArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DisassembleArguments {
    pub memory_reference: String,
    /// In bytes.
    pub offset: Option<i64>,
    /// In instructions.
    pub instruction_offset: Option<i64>,
    pub instruction_count: i64,
    pub resolve_symbols: Option<bool>,
}

/// The protocol's `DisassembledInstruction`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DisassembledInstruction {
    #[serde(default, deserialize_with = "or_default")]
    pub address: String,
    pub instruction_bytes: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub instruction: String,
    pub symbol: Option<String>,
    pub location: Option<Source>,
    pub line: Option<i64>,
    pub column: Option<i64>,
    pub end_line: Option<i64>,
    pub end_column: Option<i64>,
    /// `normal` or `invalid` (filler outside of code).
    pub presentation_hint: Option<String>,
}

/// The body of the protocol's `DisassembleResponse`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DisassembleResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub instructions: Vec<DisassembledInstruction>,
}

requests! {
    ReadMemoryArguments: "readMemory" -> ReadMemoryResponse,
    WriteMemoryArguments: "writeMemory" -> WriteMemoryResponse,
    DisassembleArguments: "disassemble" -> DisassembleResponse,
}
