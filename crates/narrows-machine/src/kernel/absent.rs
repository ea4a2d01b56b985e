//! What stands for the kernel where there is no Linux, as in a browser: it answers nothing. Records and captures are read all the same.

use std::io;

use crate::root::{FileId, Stat};
use crate::tree::Miss;
use crate::usage::Behind;

pub(crate) mod device_mapper {
    use crate::tree::Miss;

    pub(crate) fn table(_: u32, _: u32) -> Result<String, Miss> {
        Err(Miss::Absent)
    }
}

pub(crate) fn behind_loop(_: &str, _: (u32, u32)) -> Result<Behind, Miss> {
    Err(Miss::Absent)
}

pub(crate) fn data_set_of_zvol(_: &str) -> Option<String> {
    None
}

pub(crate) fn same_files(_: u32, _: u32) -> bool {
    false
}

pub(crate) fn smart_log(_: &str) -> Result<Vec<u8>, Miss> {
    Err(Miss::Absent)
}

pub(crate) fn stat(_: &str) -> Option<Stat> {
    None
}

pub(crate) fn changed(_: &str) -> Option<(FileId, i128)> {
    None
}

pub(crate) fn file_system(_: &str) -> Option<u64> {
    None
}

pub(crate) fn mount_id(_: &str) -> Option<u64> {
    None
}

pub(crate) fn diagnosed(_: &[u8], _: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    Vec::new()
}

#[derive(Debug)]
pub(crate) struct KernelCipher;

impl KernelCipher {
    pub(crate) fn open(_: &str, _: &Vec<u8>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn run(&self, _: bool, _: &[u8], _: &mut [u8]) -> Option<()> {
        None
    }
}
