//! The load engine on real files and devices.

mod copy_trees;
mod load_device;
mod load_pace;
mod load_run;
mod load_scratch;
mod load_trim;
mod load_write;
