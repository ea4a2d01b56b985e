//! Which loads: block sizes, depths, threads and mixes, all with all, as every command that runs or predicts load takes them.

use clap::Args;
use clap::builder::TypedValueParser;

use super::Failure;
use super::values::{each_with_each, or, reads, size, word};
use narrows_base::units::Bytes;
use narrows_load::measurement::Pattern;
use narrows_load::preset::{LoadSpec, Parallel};

/// The loads that are asked for; what is not typed is as usual for the command.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct Grid {
    /// Block sizes, each tried: 4KiB,64KiB,1MiB
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = size)]
    pub block_size: Vec<Bytes>,

    /// I/Os in flight of each thread, each tried: 1,8,32
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub depth: Vec<u32>,

    /// Threads at work together, each tried: 1,4,16
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub threads: Vec<u32>,

    /// How many of 100 I/Os read, each tried: 100,70,0; the others write
    #[arg(long, value_name = "READS", value_delimiter = ',', value_parser = reads)]
    pub mix: Vec<u8>,

    /// The order of addresses
    #[arg(long, value_name = "ORDER", value_parser = order())]
    pub order: Option<Pattern>,
}

fn order() -> impl TypedValueParser<Value = Pattern> {
    word([("random", "At random", Pattern::Random), ("sequential", "One after another", Pattern::Sequential)])
}

impl Grid {
    /// Whether nothing was typed.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The loads, all with all; of block sizes, depths and the order those that are usual where none are typed.
    pub(super) fn loads(
        &self,
        parallel: &[Parallel],
        (blocks, depths): (&[Bytes], &[u32]),
        order: Pattern,
    ) -> Vec<LoadSpec> {
        let order = self.order.unwrap_or(order);
        let blocks = each_with_each(&or(&self.mix, &[100]), &or(&self.block_size, blocks));
        let queues = each_with_each(parallel, &or(&self.depth, depths));
        let all = each_with_each(&blocks, &queues).into_iter();
        all.map(|((reads, block), (parallel, depth))| {
            LoadSpec::reading(order, block, depth).on(parallel).writing(100 - reads)
        })
        .collect()
    }

    /// Refuses more in flight than can be run.
    ///
    /// # Errors
    /// A depth or a number of threads is larger.
    pub(super) fn within(&self, depth: u32, threads: u32) -> Result<(), Failure> {
        let too_many = [("--depth", &self.depth, depth), ("--threads", &self.threads, threads)];
        match too_many.iter().find(|(_, typed, most)| typed.iter().any(|number| number > most)) {
            Some((option, _, most)) => Err(Failure::new(format!("{option} is {most} at most here"))),
            None => Ok(()),
        }
    }
}
