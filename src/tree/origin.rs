//! Where a tree's root comes from: a program that daptree starts, or one that ran without it. The
//! difference decides what closing means. It must not know how either is brought about.

use crate::adapter::SessionSettings;
use daptree_model::{
    AttachRequest, AttachTarget, BreakpointSpec, LaunchRequest, PathMap, Stdio, TreeOrigin,
};
use std::sync::Arc;

/// What a tree was made from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// daptree starts its root.
    Launch(Arc<LaunchRequest>),
    /// Its root is somebody else's.
    Attach(Arc<AttachRequest>),
}

impl Origin {
    /// Whether the root is not ours to end or to start again.
    pub fn is_attach(&self) -> bool {
        matches!(self, Self::Attach(_))
    }

    /// The target of an attach.
    pub fn target(&self) -> Option<&AttachTarget> {
        match self {
            Self::Launch(_) => None,
            Self::Attach(request) => Some(&request.target),
        }
    }

    /// Only the user's own code is debugged.
    pub fn just_my_code(&self) -> bool {
        match self {
            Self::Launch(request) => request.just_my_code,
            Self::Attach(request) => request.just_my_code,
        }
    }

    /// Live sessions at most; 0: no limit.
    pub fn max_children(&self) -> u32 {
        match self {
            Self::Launch(request) => request.max_children,
            Self::Attach(request) => request.max_children,
        }
    }

    /// Stop at the root's first line. What runs already is past it.
    pub fn stop_on_entry(&self) -> bool {
        match self {
            Self::Launch(request) => request.stop_on_entry,
            Self::Attach(_) => false,
        }
    }

    /// Breakpoints to set at the start.
    pub fn breakpoints(&self) -> &[BreakpointSpec] {
        match self {
            Self::Launch(request) => &request.breakpoints,
            Self::Attach(request) => &request.breakpoints,
        }
    }

    /// Exception filters to switch on at the start; `None`: nobody named any.
    pub fn exceptions(&self) -> Option<&[String]> {
        match self {
            Self::Launch(request) => request.exceptions.as_deref(),
            Self::Attach(request) => {
                Some(request.exceptions.as_slice()).filter(|named| !named.is_empty())
            }
        }
    }

    /// Folders here and what the program calls them.
    pub fn path_maps(&self) -> &[PathMap] {
        match self {
            Self::Launch(_) => &[],
            Self::Attach(request) => &request.path_maps,
        }
    }

    /// What its sessions are set up with.
    pub fn session_settings(&self) -> SessionSettings {
        SessionSettings {
            just_my_code: self.just_my_code(),
            // The streams of what ran already are not ours.
            redirect_output: self.is_attach(),
            path_maps: self.path_maps().to_vec(),
        }
    }

    /// What the user typed, for a title.
    pub fn title(&self) -> String {
        match self {
            Self::Launch(request) => {
                let words = request.words.iter().map(|word| word.to_string_lossy());
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Attach(request) => request.target.to_string(),
        }
    }

    /// The working folder.
    pub fn cwd(&self) -> String {
        let cwd = match self {
            Self::Launch(request) => &request.cwd,
            Self::Attach(request) => &request.cwd,
        };
        cwd.to_string_lossy().into_owned()
    }

    /// The root has a terminal that daptree owns.
    pub fn has_terminal(&self) -> bool {
        match self {
            Self::Launch(request) => matches!(request.stdio, Stdio::Terminal { .. }),
            Self::Attach(_) => false,
        }
    }

    /// For front ends.
    pub fn view(&self) -> TreeOrigin {
        if self.is_attach() {
            TreeOrigin::Attached
        } else {
            TreeOrigin::Launched
        }
    }
}
