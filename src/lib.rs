//! The engine of daptree as a library.
