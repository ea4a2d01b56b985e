//! What `narrows copy` is asked.

use std::path::PathBuf;

use clap::Args;

use crate::cli::output_args::OutputArgs;
use narrows_base::units::Bytes;

/// What `copy` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct CopyArgs {
    /// The file or directory to copy; it is only read
    pub src: PathBuf,

    /// The name of the copy; the directory that it lies in must be there
    pub dst: PathBuf,

    /// Go on with a copy that was interrupted, killed, or ran out of space
    ///
    /// If that copy had come to its end, its manifest is gone: files that are there then count as copied when they have the
    /// size, the time of change and, unless --no-verify is given, the contents of their sources.
    #[arg(long)]
    pub resume: bool,

    /// Do not read the copy back
    ///
    /// By default each block's checksum (XXH3) is computed while it is copied, and once the data are on stable storage
    /// they are read back past the page cache (O_DIRECT) and compared. Where the file system has no direct I/O the kernel
    /// is asked to drop them from its cache first, and the report says so.
    #[arg(long)]
    pub no_verify: bool,

    /// Read SRC past the page cache (O_DIRECT) where its file system can
    ///
    /// By default SRC is read through the page cache, as by cp. Files of 1 MiB and more are written with O_DIRECT where
    /// that is possible. All rates include that data reach stable storage.
    #[arg(long)]
    pub direct: bool,

    /// The size of a block of a large file: 4k to 64M, a multiple of 4k
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size)]
    pub block_size: Bytes,

    /// Blocks of a large file that are read and written at the same time
    ///
    /// All together take no more memory than 1 GiB and a quarter of what is available to this process.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub depth: u32,

    /// How large files are moved: io_uring, psync (one block at a time), or whichever there is
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub engine: EngineName,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What moves large files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum EngineName {
    /// io_uring, else psync
    #[default]
    Auto,
    /// io_uring or an error
    #[value(name = "io_uring")]
    IoUring,
    /// pread and pwrite
    Psync,
}

/// Reads `1M`, `64k`, `4096`; binary units.
fn size(text: &str) -> Result<Bytes, String> {
    let refused = || format!("`{text}` is not a size between 4k and 64M, a multiple of 4k");
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        _ => return Err(refused()),
    };
    let count: u64 = number.parse().map_err(|_| refused())?;
    let bytes = count.checked_mul(1 << shift).ok_or_else(refused)?;
    let is_fine = (4096..=64 << 20).contains(&bytes) && bytes.is_multiple_of(4096);
    if is_fine { Ok(Bytes::new(bytes)) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_aligned() {
        assert_eq!(size("1M"), Ok(Bytes::from_mib(1)));
        assert_eq!(size("64k"), Ok(Bytes::from_kib(64)));
        assert_eq!(size("8192"), Ok(Bytes::new(8192)));
        for text in
            ["", "0", "M", "5000", "65M", "-1M", "1G", "99999999999999999999", "18446744073709551615k"]
        {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
