//! What will a cell give? Said before it is built, from what each device gave alone.
//!
//! Nothing is new here: [`spread`] puts the drives together, [`crypt`] puts the cipher above them, [`processors`] bounds both by
//! the time that processors have, all by the laws of `ceiling/`. A rate is the least of its bounds, and `bound` names which. Reads and writes of a mix take turns in time: 1/B =
//! r/R + w/W. ext4 and XFS pass direct I/O on ([`narrows_model::ceiling::filesystem`]); what btrfs makes of small writes is not known.
//!
//! Expected error: that of the laws, ±6 % for one stream of large blocks and up to 15 % near a knee. Not covered: trims, loads
//! through the page cache, ZFS below its record, and drives whose write cache ends within the test.

mod crypt;
mod drive;
mod processors;
mod spread;
#[cfg(test)]
mod tests;

use super::layout::{Cell, FileSystem};
use super::outcome::{Basis, Predicted};
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_load::preset::LoadSpec;
use spread::Drives;

/// What an arrangement carries, and the narrowest of what bounds it.
#[derive(Debug, Clone, PartialEq)]
struct Carried {
    rate: BytesPerSec,
    /// What one request takes that is alone, where that is known to pass; 0 where drives work ahead of requests.
    seconds: f64,
    /// Bytes that all drives move for each byte of it.
    crossings: f64,
    bound: String,
    formula: String,
}

/// The least of several bounds. All their sums stay in the formula, the least first.
#[derive(Debug, Clone)]
struct Narrow {
    rate: BytesPerSec,
    bound: String,
    formula: String,
}

impl Narrow {
    fn new(rate: BytesPerSec, bound: &str, formula: String) -> Self {
        Self { rate, bound: bound.to_owned(), formula }
    }

    /// Keeps the lesser one; chance decides below this part, and then the first stays named.
    fn take(&mut self, rate: BytesPerSec, bound: &str, formula: String) {
        const CHANCE: f64 = 0.97;
        if rate < self.rate * CHANCE {
            self.bound = bound.to_owned();
            self.formula = format!("{formula}, below: {}", self.formula);
        }
        self.rate = self.rate.min(rate);
    }

    fn from(carried: Carried) -> Self {
        Self { rate: carried.rate, bound: carried.bound, formula: carried.formula }
    }

    fn carried(self, seconds: f64) -> Carried {
        Carried { rate: self.rate, seconds, crossings: 1.0, bound: self.bound, formula: self.formula }
    }
}

/// What `cell` will give in `test`, whose load is `load`: one rate, of all reads and writes together. `None` as its rate when it
/// cannot be said; `bound` then says why.
pub fn predict(basis: &Basis, cell: &Cell, test: &str, load: &LoadSpec) -> Predicted {
    let (bytes_per_second, bound, formula) = match rate(basis, cell, test, load) {
        Ok(carried) => (Some(carried.rate), carried.bound, carried.formula),
        Err(why) => (None, why, String::new()),
    };
    Predicted { test: test.to_owned(), bytes_per_second, bound, formula }
}

fn rate(basis: &Basis, cell: &Cell, test: &str, load: &LoadSpec) -> Result<Carried, String> {
    if load.buffered {
        return Err("the page cache reads ahead as much as the layout tells it to".to_owned());
    }
    if basis.devices.len() < cell.layout.fewest() {
        return Err(format!("{} needs {} devices", cell.layout.name(), cell.layout.fewest()));
    }
    if cell.file_system == FileSystem::Btrfs && load.writes() && load.block_size < Bytes::from_kib(64) {
        return Err("btrfs writes every small block elsewhere, with its sums; what that costs is not known"
            .to_owned());
    }
    let drives = Drives::of(basis, test, load)?;
    let one_way = |writes: bool| {
        let carried = drives.carried(cell.layout, writes)?;
        let carried = crypt::below(cell.encryption, carried, basis, (test, load), writes)?;
        Ok(processors::within(carried, cell, basis, (test, load)))
    };
    match load.write_percent {
        0 => one_way(false),
        100.. => one_way(true),
        writes => Ok(mixed(one_way(false)?, one_way(true)?, f64::from(writes) / 100.0)),
    }
}

/// Reads and writes take turns; what bounds the half that takes more of the time bounds the mix.
fn mixed(read: Carried, write: Carried, writes: f64) -> Carried {
    let (reading, writing) = ((1.0 - writes) / read.rate.get(), writes / write.rate.get());
    let rate = BytesPerSec::new(1.0 / (reading + writing));
    let formula = format!(
        "{} reads at {}, {} writes at {} in turns = {rate}",
        human::percent(1.0 - writes),
        read.rate,
        human::percent(writes),
        write.rate
    );
    let longer = if reading > writing { &read } else { &write };
    Carried {
        rate,
        seconds: (1.0 - writes) * read.seconds + writes * write.seconds,
        crossings: (1.0 - writes) * read.crossings + writes * write.crossings,
        bound: longer.bound.clone(),
        formula: format!("{formula}; {}", longer.formula),
    }
}
