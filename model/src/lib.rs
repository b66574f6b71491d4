//! What the engine and its front ends say to each other.
