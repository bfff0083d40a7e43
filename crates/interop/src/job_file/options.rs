//! fio's options, and what becomes of each.

/// An option that says something of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Bs,
    Bsrange,
    Bssplit,
    Blockalign,
    OffsetIncrement,
    BufferPattern,
    Compress,
    Dedupe,
    Distribution,
    DoVerify,
    Fdatasync,
    Fsync,
    Iodepth,
    Ioengine,
    IoSize,
    KbBase,
    Loops,
    Name,
    Norandommap,
    Numjobs,
    Offset,
    PercentageRandom,
    Ramp,
    ReadIolog,
    ReplayNoStall,
    ReplayRedirect,
    ReplayTimeScale,
    Rate,
    RateIops,
    RateProcess,
    Runtime,
    Rw,
    Rwmixread,
    Rwmixwrite,
    Size,
    Stonewall,
    Thinktime,
    ThinktimeBlocks,
    Sync,
    TimeBased,
    Verify,
    ZeroBuffers,
}

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It becomes a value of the job.
    Mapped(Key),
    /// As `Mapped`, unless it has one of these values, which change nothing.
    MappedUnless(Key, &'static [&'static str]),
    /// It changes nothing here, for this reason.
    Ignored(&'static str),
    /// It changes the load in a way that is not taken over, for this reason, unless it has one of
    /// these values, which change nothing.
    Refused(&'static str, &'static [&'static str]),
}

const FILES: &str = "the target is given beside the job file";
const LAYOUT: &str = "no file is laid out or removed for a job";
const REPORT: &str = "results are kept and printed in this program's own way";
const LOGS: &str = "the result has its own time series";
const PERCENTILES: &str = "the whole latency distribution is kept";
const TIMING: &str = "latency is always measured";
const SEED: &str = "random numbers come from the seed of the run";
const CACHE: &str = "`flashlab load` goes past the page cache unless --buffered is given";
const THREADS: &str = "each job is a thread of this program; `flashlab load` pins them with --cpus or --numa";
const HOST: &str = "how the host submits is a matter of the host profile, or of the options of `flashlab load`";
const BUFFERS: &str = "what is written is incompressible and new each time";
const VERIFY: &str = "this program verifies in its own way";
const BATCH: &str = "requests are submitted as soon as there is room";
const SIZES: &str = "sizes are those of bs, bssplit or bsrange, aligned to the smallest or by blockalign";
const PLACES: &str = "it changes the order of offsets in a way that is not taken over";
const TRACE: &str = "addresses, sizes and requests are those of the trace, or it is refused";
const THINK: &str = "pauses are taken over by thinktime and thinktime_blocks, paces by rate and rate_iops";
const ORDER: &str = "jobs start together, or after one another with stonewall";
const SEARCH: &str = "a job does not change its load as it runs";
const SPREAD: &str = "a job runs on one target";
const ERRORS: &str = "an error ends the job; `flashlab load --continue-on-error` goes on";

/// All known options with their other names, by fate.
#[rustfmt::skip]
const OPTIONS: &[(&[&str], Fate)] = &[
    (&["bs", "blocksize"], Fate::Mapped(Key::Bs)),
    (&["bsrange", "blocksize_range"], Fate::Mapped(Key::Bsrange)),
    (&["bssplit"], Fate::Mapped(Key::Bssplit)),
    (&["blockalign", "ba"], Fate::Mapped(Key::Blockalign)),
    (&["buffer_compress_percentage"], Fate::MappedUnless(Key::Compress, &["0"])),
    (&["buffer_pattern"], Fate::Mapped(Key::BufferPattern)),
    (&["dedupe_percentage"], Fate::MappedUnless(Key::Dedupe, &["0"])),
    (&["do_verify"], Fate::Mapped(Key::DoVerify)),
    (&["random_distribution"], Fate::MappedUnless(Key::Distribution, &["random"])),
    (&["verify"], Fate::MappedUnless(Key::Verify, &["0"])),
    (&["zero_buffers"], Fate::Mapped(Key::ZeroBuffers)),
    (&["fdatasync"], Fate::Mapped(Key::Fdatasync)),
    (&["fsync"], Fate::Mapped(Key::Fsync)),
    (&["iodepth"], Fate::Mapped(Key::Iodepth)),
    (&["ioengine"], Fate::Mapped(Key::Ioengine)),
    (&["io_size", "io_limit"], Fate::Mapped(Key::IoSize)),
    (&["kb_base"], Fate::Mapped(Key::KbBase)),
    (&["loops"], Fate::Mapped(Key::Loops)),
    (&["name"], Fate::Mapped(Key::Name)),
    (&["norandommap"], Fate::Mapped(Key::Norandommap)),
    (&["numjobs"], Fate::Mapped(Key::Numjobs)),
    (&["offset", "fileoffset"], Fate::Mapped(Key::Offset)),
    (&["offset_increment"], Fate::MappedUnless(Key::OffsetIncrement, &["0"])),
    (&["percentage_random"], Fate::MappedUnless(Key::PercentageRandom, &["100"])),
    (&["thinktime"], Fate::MappedUnless(Key::Thinktime, &["0"])),
    (&["thinktime_blocks"], Fate::Mapped(Key::ThinktimeBlocks)),
    (&["ramp_time"], Fate::Mapped(Key::Ramp)),
    (&["rate"], Fate::Mapped(Key::Rate)),
    (&["rate_iops"], Fate::Mapped(Key::RateIops)),
    (&["rate_process"], Fate::Mapped(Key::RateProcess)),
    (&["read_iolog"], Fate::Mapped(Key::ReadIolog)),
    (&["replay_no_stall"], Fate::Mapped(Key::ReplayNoStall)),
    (&["replay_redirect"], Fate::Mapped(Key::ReplayRedirect)),
    (&["replay_time_scale"], Fate::Mapped(Key::ReplayTimeScale)),
    (&["runtime", "timeout"], Fate::Mapped(Key::Runtime)),
    (&["rw", "readwrite"], Fate::Mapped(Key::Rw)),
    (&["rwmixread"], Fate::Mapped(Key::Rwmixread)),
    (&["rwmixwrite"], Fate::Mapped(Key::Rwmixwrite)),
    (&["size"], Fate::Mapped(Key::Size)),
    (&["stonewall", "wait_for_previous"], Fate::Mapped(Key::Stonewall)),
    (&["sync"], Fate::Mapped(Key::Sync)),
    (&["time_based"], Fate::Mapped(Key::TimeBased)),

    (&["filename", "directory", "filename_format", "allow_mounted_write"], Fate::Ignored(FILES)),
    (&["fallocate", "overwrite", "create_serialize", "create_fsync", "create_on_open", "unlink", "unlink_each_loop",
       "pre_read", "file_service_type", "openfiles", "fadvise_hint"], Fate::Ignored(LAYOUT)),
    (&["group_reporting", "new_group", "description", "unified_rw_reporting", "unit_base", "sig_figs", "stats",
       "significant_figures", "thread_name", "disk_util"], Fate::Ignored(REPORT)),
    (&["write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "log_avg_msec", "log_hist_msec",
       "log_hist_coarseness", "log_max_value", "log_offset", "log_prio", "log_unix_epoch", "log_alternate_epoch",
       "log_entries", "log_compression", "log_compression_cpus", "log_store_compressed", "log_window_value",
       "log_issue_time", "per_job_logs", "bwavgtime", "iopsavgtime"], Fate::Ignored(LOGS)),
    (&["percentile_list", "clat_percentiles", "lat_percentiles", "slat_percentiles"], Fate::Ignored(PERCENTILES)),
    (&["gtod_reduce", "gtod_cpu", "clocksource", "disable_lat", "disable_clat", "disable_slat", "disable_bw",
       "disable_bw_measurement"], Fate::Ignored(TIMING)),
    (&["randrepeat", "allrandrepeat", "randseed", "random_generator", "softrandommap"], Fate::Ignored(SEED)),
    (&["direct", "buffered", "invalidate"], Fate::Ignored(CACHE)),
    (&["thread", "cpus_allowed", "cpus_allowed_policy", "cpumask", "numa_cpu_nodes", "numa_mem_policy", "nice"],
       Fate::Ignored(THREADS)),
    (&["hipri", "hipri_percentage", "fixedbufs", "registerfiles", "sqthread_poll", "sqthread_poll_cpu", "nonvectored",
       "force_async", "userspace_reap", "mem", "iomem", "iomem_align", "mem_align", "lockmem", "hugepage-size",
       "nowait", "io_submit_mode", "ioscheduler"], Fate::Ignored(HOST)),
    (&["refill_buffers", "scramble_buffers"], Fate::Ignored(BUFFERS)),
    (&["verify_fatal", "verify_backlog", "verify_backlog_batch", "verify_dump", "verify_async",
       "verify_async_cpus", "verify_interval", "verify_offset", "verify_pattern", "verify_state_save",
       "verify_state_load"], Fate::Ignored(VERIFY)),

    (&["verify_only", "experimental_verify"],
       Fate::Refused("a later run checks with a reading job that has verify", &["0"])),
    (&["buffer_compress_chunk"], Fate::Ignored("each block compresses by the same share")),
    (&["iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete", "iodepth_batch_complete_min",
       "iodepth_batch_complete_max", "iodepth_low", "serialize_overlap", "io_offload"],
       Fate::Refused(BATCH, &["1"])),
    (&["bs_unaligned", "blocksize_unaligned", "bs_is_seq_rand", "min_bs"], Fate::Refused(SIZES, &[])),
    (&["zonemode"], Fate::Refused(PLACES, &["none"])),
    (&["offset_align", "zonesize", "zonerange", "zoneskip", "rw_sequencer", "rwmixcycle",
       "number_ios", "io_size_increment"], Fate::Refused(PLACES, &["0"])),
    (&["flow", "flow_id"], Fate::Refused("jobs don't pace one another here", &["0"])),
    (&["replay_scale"], Fate::Refused(TRACE, &["0", "1"])),
    (&["replay_align"], Fate::Refused(TRACE, &["0"])),
    (&["replay_skip", "merge_blktrace_file", "merge_blktrace_scalars", "merge_blktrace_iters", "write_iolog"],
       Fate::Refused(TRACE, &[])),
    (&["read_iolog_chunked"], Fate::Ignored("a trace is read before it is replayed")),
    (&["thinktime_spin"], Fate::Ignored("a thread sleeps in its pauses, and spins only for the last of them")),
    (&["thinktime_blocks_type"], Fate::Refused(THINK, &["complete"])),
    (&["thinktime_iotime", "rate_ignore_thinktime", "rate_cycle"], Fate::Refused(THINK, &["0"])),
    (&["rate_min", "rate_iops_min"], Fate::Refused("no job is ended for being too slow", &["0"])),
    (&["startdelay", "wait_for"],
       Fate::Refused(ORDER, &["0"])),
    (&["exitall", "exitall_on_error", "exit_what"], Fate::Refused("each job ends by itself", &["0"])),
    (&["exec_prerun", "exec_postrun"], Fate::Refused("no commands are run", &[])),
    (&["latency_target", "latency_window", "latency_percentile", "latency_run", "max_latency", "steadystate",
       "steadystate_duration", "steadystate_ramp_time", "ss", "ss_dur", "ss_ramp"], Fate::Refused(SEARCH, &["0"])),
    (&["nrfiles", "nr_files"], Fate::Refused(SPREAD, &["1"])),
    (&["filesize", "file_append", "fill_device", "fill_fs"], Fate::Refused(SPREAD, &["0"])),
    (&["end_fsync", "fsync_on_close", "write_barrier", "sync_file_range"],
       Fate::Refused("sync, fsync and fdatasync are the ways to durable writes that are taken over", &["0"])),
    (&["prio", "prioclass", "cmdprio_percentage", "cmdprio", "cmdprio_class", "cmdprio_bssplit"],
       Fate::Refused("requests have no priorities here", &["0"])),
    (&["continue_on_error", "error_dump"], Fate::Ignored(ERRORS)),
    (&["ignore_error"], Fate::Refused("errors are counted, all of them", &["0", "none"])),
];

/// What becomes of the option of this name; `None` when fio has no such option, or none that is known
/// here.
pub(super) fn fate(name: &str) -> Option<Fate> {
    OPTIONS.iter().find(|(names, _)| names.contains(&name)).map(|(_, fate)| *fate)
}

/// All names that become values of the job.
pub(super) fn mapped() -> impl Iterator<Item = &'static str> {
    OPTIONS
        .iter()
        .filter(|(_, fate)| matches!(fate, Fate::Mapped(_) | Fate::MappedUnless(..)))
        .flat_map(|(names, _)| names.iter().copied())
}

/// All known names.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().flat_map(|(names, _)| names.iter().copied())
}

/// What an engine means for the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// Many requests at a time.
    Asynchronous,
    /// One request at a time, whatever the iodepth.
    Synchronous,
    /// Not a block load of a drive.
    Other,
}

/// fio's engines for block devices; all others do something else.
pub(super) fn engine(name: &str) -> Engine {
    match name {
        "io_uring" | "io_uring_cmd" | "libaio" | "posixaio" | "windowsaio" | "solarisaio" | "libblkio" | "xnvme"
        | "spdk" => Engine::Asynchronous,
        "psync" | "sync" | "vsync" | "pvsync" | "pvsync2" | "mmap" | "splice" => Engine::Synchronous,
        _ => Engine::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_stands_once() {
        let unique: BTreeSet<&str> = known().collect();
        assert_eq!(unique.len(), known().count());
        assert!(mapped().all(|name| matches!(fate(name), Some(Fate::Mapped(_) | Fate::MappedUnless(..)))));
        assert_eq!(fate("bogus"), None);
    }
}
