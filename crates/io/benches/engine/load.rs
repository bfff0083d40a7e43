//! The loads that are compared.

use flashlab_units::Bytes;
use std::path::Path;

/// Fits the second-level cache of a core of most servers, with the buffers.
const CACHED: Bytes = Bytes::mib(1);

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// 4 KiB random reads from the page cache, of a part of the file that also fits the CPU's.
    Cached,
    /// The same of all of the file, so that most of the cost is memory.
    CachedLarge,
    /// 4 KiB random reads, O_DIRECT.
    Direct,
    /// Requests that ask nothing: IORING_OP_NOP, and fio's null engine.
    Nop,
    /// 128 KiB sequential reads, O_DIRECT.
    SeqRead,
    /// 128 KiB sequential writes of unique data, O_DIRECT.
    SeqWrite,
}

impl Load {
    pub const ALL: [Load; 6] =
        [Load::Cached, Load::CachedLarge, Load::Direct, Load::Nop, Load::SeqRead, Load::SeqWrite];

    pub const fn word(self) -> &'static str {
        match self {
            Load::Cached => "cached",
            Load::CachedLarge => "cached-large",
            Load::Direct => "direct",
            Load::Nop => "nop",
            Load::SeqRead => "seq-read",
            Load::SeqWrite => "seq-write",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Load::ALL.into_iter().find(|load| load.word() == word)
    }

    pub const fn bs(self) -> Bytes {
        if self.is_sequential() { Bytes::kib(128) } else { Bytes::kib(4) }
    }

    pub const fn is_sequential(self) -> bool {
        matches!(self, Load::SeqRead | Load::SeqWrite)
    }

    pub const fn is_direct(self) -> bool {
        matches!(self, Load::Direct | Load::SeqRead | Load::SeqWrite)
    }

    pub const fn writes(self) -> bool {
        matches!(self, Load::SeqWrite)
    }

    /// How much of a file of this size is used.
    pub fn part(self, file: Bytes) -> Bytes {
        if self == Load::Cached { file.min(CACHED) } else { file }
    }

    /// I/Os of a full measurement: a few seconds each on a slow machine, so that what starting up varies by is little.
    pub const fn ios(self) -> u64 {
        match self {
            Load::Cached | Load::CachedLarge => 1_500_000,
            Load::Direct => 250_000,
            Load::Nop => 10_000_000,
            Load::SeqRead => 200_000,
            Load::SeqWrite => 100_000,
        }
    }
}

/// A program that can run a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The engine, through its target, with full histograms and one-second series.
    Ours,
    /// fio as it is.
    Fio,
    /// fio with batches of 16, registered files and buffers.
    FioTuned,
    /// A bare io_uring loop: nothing but the I/Os.
    Bare,
    /// The bare loop with two time stamps a batch and a full histogram, which every generator needs.
    BareTimed,
}

impl Program {
    pub const ALL: [Program; 5] = [Program::Ours, Program::Fio, Program::FioTuned, Program::Bare, Program::BareTimed];

    pub const fn name(self) -> &'static str {
        match self {
            Program::Ours => "ours",
            Program::Fio => "fio",
            Program::FioTuned => "fio-batched",
            Program::Bare => "bare",
            Program::BareTimed => "bare-timed",
        }
    }

    pub const fn is_fio(self) -> bool {
        matches!(self, Program::Fio | Program::FioTuned)
    }
}

/// fio's arguments for `ios` of a load.
pub fn fio_arguments(load: Load, tuned: bool, path: &Path, size: Bytes, iodepth: u32, ios: u64) -> Vec<String> {
    let rw = match load {
        Load::SeqRead => "read",
        Load::SeqWrite => "write",
        _ => "randread",
    };
    let engine = if load == Load::Nop { "null" } else { "io_uring" };
    let amount = ios * load.bs().0;
    let mut arguments: Vec<String> = [
        "--name=bench",
        // A second job file's group, a status line and a helper thread's work are no part of this.
        "--eta=never",
        "--thread=1",
        "--allow_file_create=0",
        // Would drop what is in the page cache.
        "--invalidate=0",
        "--output-format=json",
    ]
    .map(str::to_owned)
    .into();
    arguments.push(format!("--ioengine={engine}"));
    arguments.push(format!("--rw={rw}"));
    arguments.push(format!("--bs={}", load.bs().0));
    arguments.push(format!("--iodepth={iodepth}"));
    arguments.push(format!("--direct={}", u8::from(load.is_direct())));
    arguments.push(format!("--size={}", size.0));
    arguments.push(format!("--io_size={amount}"));
    if load != Load::Nop {
        arguments.push(format!("--filename={}", path.display()));
    }
    if tuned {
        // Of the ways to batch, the one that cost fio least here; as ours, it reaps what is there.
        arguments.extend(
            ["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=16"]
                .map(str::to_owned),
        );
        if load != Load::Nop {
            arguments.extend(["--registerfiles=1", "--fixedbufs=1"].map(str::to_owned));
        }
    }
    arguments
}
