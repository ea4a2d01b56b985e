//! What builds on devices, puts load on them and takes it away again: the layout [`lab`].
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod lab;
