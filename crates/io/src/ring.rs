//! Setting up one ring: asking for everything, noting what was granted.

use crate::explain::{PSYNC_REMEDY, errno_text, ring_error};
use crate::region::Region;
use flashlab_samples::Granted;
use flashlab_target::TargetError;
use io_uring::{IoUring, Probe, opcode};

type Builder = io_uring::Builder;
use std::fs::File;
use std::os::fd::AsRawFd;

/// The kernel registers at most 1 GiB as one buffer.
pub(crate) const PART_MAX: usize = 1 << 30;

/// A setup flag, since when the kernel has it, and how it is asked for.
type Flag = (&'static str, &'static str, fn(&mut Builder));

/// Oldest first: a kernel that lacks one lacks all after it.
const FLAGS: [Flag; 4] = [
    ("COOP_TASKRUN", "5.19", |b| _ = b.setup_coop_taskrun()),
    ("SINGLE_ISSUER", "6.0", |b| _ = b.setup_single_issuer()),
    ("DEFER_TASKRUN", "6.1", |b| _ = b.setup_defer_taskrun()),
    ("NO_SQARRAY", "6.6", |b| _ = b.setup_no_sqarray()),
];

/// What the engine uses, with the opcode. The last three are for trims and flushes only.
const OPERATIONS: [(&str, u8); 7] = [
    ("READ_FIXED", opcode::ReadFixed::CODE),
    ("WRITE_FIXED", opcode::WriteFixed::CODE),
    ("READ", opcode::Read::CODE),
    ("WRITE", opcode::Write::CODE),
    ("FSYNC", opcode::Fsync::CODE),
    ("FALLOCATE", opcode::Fallocate::CODE),
    ("URING_CMD", opcode::UringCmd16::CODE),
];

/// A submitting kernel thread goes to sleep after this long without work.
const SQPOLL_IDLE_MS: u32 = 1_000;

/// How completions and submissions are had, beyond interrupts and system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Modes {
    pub(crate) iopoll: bool,
    pub(crate) sqpoll: bool,
}

impl Modes {
    /// Whether a setup flag goes together with them: with a kernel thread that submits there is no task
    /// work to put off.
    fn allow(self, flag: &str) -> bool {
        !self.sqpoll || !matches!(flag, "COOP_TASKRUN" | "DEFER_TASKRUN")
    }

    fn ask(self, builder: &mut Builder) {
        if self.iopoll {
            builder.setup_iopoll();
        }
        if self.sqpoll {
            builder.setup_sqpoll(SQPOLL_IDLE_MS);
        }
    }

    fn words(self) -> impl Iterator<Item = String> {
        [(self.iopoll, "IOPOLL"), (self.sqpoll, "SQPOLL")].into_iter().filter(|(on, _)| *on).map(|(_, w)| w.to_owned())
    }
}

/// A ring, and in words what it has and lacks.
pub(crate) struct Ring {
    pub(crate) ring: IoUring,
    pub(crate) features: Vec<String>,
    pub(crate) refused: Vec<String>,
}

impl Ring {
    /// A ring for `entries` outstanding I/Os with as many of the flags as the kernel grants. It must
    /// be made on the thread that uses it.
    ///
    /// # Errors
    /// [`TargetError::NotGranted`] with what the kernel said and the remedy.
    pub(crate) fn new(entries: u32, modes: &Modes) -> Result<Self, TargetError> {
        let mut attempt = 0;
        let ring = loop {
            let kept = FLAGS.len() - attempt;
            let mut builder = IoUring::builder();
            builder.dontfork();
            FLAGS[..kept].iter().filter(|(name, ..)| modes.allow(name)).for_each(|(_, _, ask)| ask(&mut builder));
            modes.ask(&mut builder);
            match builder.build(entries) {
                Ok(ring) => break ring,
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) && kept > 0 => attempt += 1,
                Err(e) => return Err(ring_error(&e)),
            }
        };
        let (kept, lacking) = FLAGS.split_at(FLAGS.len() - attempt);
        if !ring.params().is_feature_ext_arg() {
            // Without it a wait has no time limit, and a stuck I/O could not be noticed.
            return Err(TargetError::NotGranted {
                what: "io_uring",
                reason: "this kernel's io_uring can't limit a wait (IORING_FEAT_EXT_ARG), which needs Linux 5.11"
                    .into(),
                remedy: format!("use a newer kernel, or {PSYNC_REMEDY}"),
            });
        }
        Ok(Ring {
            ring,
            features: kept
                .iter()
                .filter(|(name, ..)| modes.allow(name))
                .map(|(name, _, _)| (*name).to_owned())
                .chain(modes.words())
                .collect(),
            refused: lacking.iter().map(|(name, since, _)| format!("{name}: EINVAL, needs Linux {since}")).collect(),
        })
    }

    /// Registers the file and the buffers; true if both were granted.
    pub(crate) fn register(&mut self, file: &File, region: &Region) -> bool {
        let submitter = self.ring.submitter();
        let with_file = submitter.register_files(&[file.as_raw_fd()]);
        let parts = region.parts(PART_MAX);
        // SAFETY: the parts lie inside the region, which lives until no I/O is in flight.
        let with_buffers = unsafe { submitter.register_buffers(&parts) };
        let registered = with_file.is_ok() && with_buffers.is_ok();
        for (name, outcome) in [("registered-file", with_file), ("registered-buffers", with_buffers)] {
            match outcome {
                Ok(()) if registered => self.features.push(name.to_owned()),
                Ok(()) => self.refused.push(format!("{name}: not used, because the other registration failed")),
                Err(e) => self.refused.push(format!("{name}: {}", errno_text(&e))),
            }
        }
        registered
    }

    /// Tries to register the ring's own descriptor, which lasts as long as the submitter that did it.
    pub(crate) fn try_registered_ring(&mut self) {
        let mut submitter = self.ring.submitter();
        match submitter.register_ring_fd().and_then(|()| submitter.unregister_ring_fd()) {
            Ok(()) => self.features.push("registered-ring".to_owned()),
            Err(e) => self.refused.push(format!("registered-ring: {}", errno_text(&e))),
        }
    }

    /// Which of the operations the engine uses exist, and which don't.
    pub(crate) fn operations(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let mut probe = Probe::new();
        if self.ring.submitter().register_probe(&mut probe).is_err() {
            return (Vec::new(), Vec::new());
        }
        let (has, lacks): (Vec<_>, Vec<_>) = OPERATIONS.iter().partition(|(_, code)| probe.is_supported(*code));
        (has.iter().map(|(name, _)| *name).collect(), lacks.iter().map(|(name, _)| *name).collect())
    }

    /// Moves the words into what is granted.
    pub(crate) fn tell(&mut self, granted: &mut Granted) {
        granted.features.append(&mut self.features);
        granted.refused.append(&mut self.refused);
    }
}
