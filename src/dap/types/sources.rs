//! Sources, modules and locations. It must not know of files on this machine.

use super::{or_default, requests};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The protocol's `Source`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub name: Option<String>,
    pub path: Option<String>,
    /// Above 0: the text has to be asked for with a `source` request, and only in this session.
    pub source_reference: Option<i64>,
    /// `normal`, `emphasize` or `deemphasize`.
    pub presentation_hint: Option<String>,
    pub origin: Option<String>,
    pub sources: Option<Vec<Source>>,
    /// Opaque; goes back to the adapter as it came.
    pub adapter_data: Option<Value>,
    pub checksums: Option<Vec<Checksum>>,
    /// Unknown fields, which go back to the adapter too.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Source {
    /// The source at a path of the debuggee's machine.
    pub fn at(path: impl Into<String>) -> Self {
        Self {
            path: Some(path.into()),
            ..Self::default()
        }
    }
}

/// The protocol's `Checksum`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checksum {
    /// `MD5`, `SHA1`, `SHA256` or `timestamp`.
    pub algorithm: String,
    pub checksum: String,
}

/// The protocol's `SourceArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceArguments {
    pub source: Option<Source>,
    pub source_reference: i64,
}

/// The body of the protocol's `SourceResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub content: String,
    pub mime_type: Option<String>,
}

/// The protocol's `LoadedSourcesArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadedSourcesArguments {}

/// The body of the protocol's `LoadedSourcesResponse`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadedSourcesResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub sources: Vec<Source>,
}

/// The protocol's `Module`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Module {
    /// A number or a string.
    pub id: Value,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    pub path: Option<String>,
    pub is_optimized: Option<bool>,
    pub is_user_code: Option<bool>,
    pub version: Option<String>,
    pub symbol_status: Option<String>,
    pub symbol_file_path: Option<String>,
    pub date_time_stamp: Option<String>,
    pub address_range: Option<String>,
    /// The columns that the adapter announced.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The protocol's `ModulesArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModulesArguments {
    pub start_module: Option<i64>,
    /// Absent or 0 means all.
    pub module_count: Option<i64>,
}

/// The body of the protocol's `ModulesResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModulesResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub modules: Vec<Module>,
    pub total_modules: Option<i64>,
}

/// The protocol's `LocationsArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocationsArguments {
    pub location_reference: i64,
}

/// The body of the protocol's `LocationsResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocationsResponse {
    pub source: Source,
    pub line: i64,
    pub column: Option<i64>,
    pub end_line: Option<i64>,
    pub end_column: Option<i64>,
}

requests! {
    SourceArguments: "source" -> SourceResponse,
    LoadedSourcesArguments: "loadedSources" -> LoadedSourcesResponse,
    ModulesArguments: "modules" -> ModulesResponse,
    LocationsArguments: "locations" -> LocationsResponse,
}
