//! A section's options as the values of a job.

use super::content;
use super::iolog;
use super::options::{self, Engine, Key};
use super::rates;
use super::sections::{Entry, Section};
use super::values::{self, Fault};
use super::{Extent, FioJob, Note};
use crate::InteropError;
use crate::error::shown;
use flashlab_spec::{Arrival, Data, Durability, Rw, Verify};
use flashlab_units::{Bytes, Nanos};

/// fio's default for every direction.
const BS_DEFAULT: Bytes = Bytes::kib(4);

/// fio's default for the share of reads in a mix, in percent.
const HALF: u8 = 50;

/// The values of a section with what it inherits. The wave is left to the caller.
pub(super) fn job(section: &Section, file: &str) -> Result<FioJob, InteropError> {
    let mut builder = Builder { section, file, notes: section.content.notes.clone() };
    let mut job = FioJob {
        name: section.get(Key::Name).and_then(|e| e.value.clone()).unwrap_or_else(|| section.name.clone()),
        line: section.line,
        wave: 0,
        trace: iolog::trace(&mut builder)?,
        rw: builder.rw()?,
        bs: builder.bs()?,
        iodepth: builder.iodepth()?,
        numjobs: builder.count(Key::Numjobs)?.unwrap_or(1),
        size: builder.size()?,
        own_parts: builder.own_parts()?,
        io_size: builder.io_size()?,
        offset: builder.extent(Key::Offset)?.unwrap_or(Extent::Bytes(Bytes::ZERO)),
        loops: builder.count(Key::Loops)?.unwrap_or(1),
        rwmixread: builder.rwmixread()?,
        arrival: Arrival::Closed,
        runtime: builder.time(Key::Runtime)?.filter(|time| *time > Nanos::ZERO),
        time_based: section.is_on(Key::TimeBased),
        ramp: builder.time(Key::Ramp)?.unwrap_or_default(),
        once: !section.is_on(Key::Norandommap),
        durability: builder.durability()?,
        sizes: content::sizes(&mut builder)?,
        align: None,
        distribution: content::distribution(&builder)?,
        data: content::data(&builder)?,
        random: None,
        think: content::think(&mut builder)?,
        verify: Verify::Off,
        ignored: section.content.ignored.clone(),
        notes: Vec::new(),
    };
    job.align = content::align(&mut builder, job.rw)?;
    job.random = content::random(&mut builder, job.rw)?;
    job.verify = content::verify(&mut builder, job.rw)?;
    rates::apply(&mut builder, &mut job)?;
    builder.check_times(&job)?;
    if job.repeats_for_its_sizes() {
        let line = [Key::Bssplit, Key::Bsrange, Key::Bs].iter().find_map(|key| section.get(*key)).map(|e| e.line);
        let text = "with several sizes a block may come again before all had their turn";
        builder.note(line.unwrap_or(section.line), text);
    }
    if !job.rw.is_mixed() {
        builder.drop_the_mix(&mut job);
    }
    if !job.rw.writes() {
        builder.drop_what_is_about_writes(&mut job);
    }
    let is_told = |option: &str| section.content.ignored.iter().any(|ignored| ignored.option.starts_with(option));
    if !is_told("direct") && !is_told("buffered") {
        let text =
            "neither direct nor buffered is given: fio uses the page cache, `flashlab load` only with --buffered";
        builder.note(section.line, text);
    }
    job.notes = builder.notes;
    Ok(job)
}

/// Reads the values one by one.
pub(super) struct Builder<'a> {
    pub(super) section: &'a Section,
    file: &'a str,
    notes: Vec<Note>,
}

impl Builder<'_> {
    /// An error at an option.
    pub(super) fn refuse(&self, entry: &Entry, (reason, remedy): Fault) -> InteropError {
        InteropError::Option {
            file: self.file.to_owned(),
            line: entry.line,
            option: entry.name.clone(),
            reason,
            remedy,
        }
    }

    pub(super) fn note(&mut self, line: u64, text: impl Into<String>) {
        self.notes.push(Note { line, text: text.into() });
    }

    /// An option's text, read by `read`, which gets the entry and its value.
    pub(super) fn read<T>(
        &self,
        key: Key,
        read: impl FnOnce(&Entry, &str) -> Result<T, Fault>,
    ) -> Result<Option<T>, InteropError> {
        let Some(entry) = self.section.get(key) else { return Ok(None) };
        read(entry, entry.value.as_deref().unwrap_or("")).map(Some).map_err(|fault| self.refuse(entry, fault))
    }

    fn count(&self, key: Key) -> Result<Option<u32>, InteropError> {
        self.read(key, |_, text| match values::count(text)? {
            0 => Err(("it is 0".into(), "use at least 1, or leave it out".into())),
            count => Ok(count),
        })
    }

    fn time(&self, key: Key) -> Result<Option<Nanos>, InteropError> {
        self.read(key, |_, text| values::time(text))
    }

    fn extent(&mut self, key: Key) -> Result<Option<Extent>, InteropError> {
        let Some((extent, note, line)) = self.read(key, |entry, text| {
            values::extent(text, entry.base).map(|(extent, note)| (extent, note, entry.line))
        })?
        else {
            return Ok(None);
        };
        if let Some(text) = note {
            self.note(line, text);
        }
        Ok(Some(extent))
    }

    fn size(&mut self) -> Result<Option<Extent>, InteropError> {
        let size = self.extent(Key::Size)?;
        if size == Some(Extent::Bytes(Bytes::ZERO)) {
            let line = self.section.get(Key::Size).map_or(self.section.line, |entry| entry.line);
            self.note(line, "a size of 0 is the whole target to fio");
            return Ok(None);
        }
        Ok(size)
    }

    /// Whether each job has a part of its own, as with an `offset_increment` of the size. Of parts that overlap or leave
    /// gaps no load here consists.
    fn own_parts(&mut self) -> Result<bool, InteropError> {
        let Some(increment) = self.extent(Key::OffsetIncrement)? else { return Ok(false) };
        match self.section.get(Key::OffsetIncrement) {
            Some(entry) if self.size()? != Some(increment) => {
                let reason = "parts of the jobs overlap, have gaps or have no size".to_owned();
                Err(self.refuse(entry, (reason, "make it the size of a job, or leave it out".into())))
            }
            _ => Ok(true),
        }
    }

    /// A share is refused, and so is more than one loop: fio 3.33 moves neither what it says (half of a
    /// file of 100 MiB came out as 55 MiB, twice 25 MiB as 30 MiB).
    fn io_size(&mut self) -> Result<Option<Bytes>, InteropError> {
        let read = self.read(Key::IoSize, |entry, text| {
            values::bytes(text, entry.base).map(|(size, note)| (size, note, entry.line))
        })?;
        let Some((size, note, line)) = read else { return Ok(None) };
        if let Some(text) = note {
            self.note(line, text);
        }
        let loops = self.count(Key::Loops)?.unwrap_or(1);
        if let (2.., Some(entry)) = (loops, self.section.get(Key::Loops)) {
            let fault = ("io_size is given too".into(), "give the whole amount as io_size, without loops".into());
            return Err(self.refuse(entry, fault));
        }
        Ok(Some(size).filter(|size| *size > Bytes::ZERO))
    }

    fn rw(&mut self) -> Result<Rw, InteropError> {
        let Some(rw) = self.read(Key::Rw, |_, text| rw(text))? else {
            if self.section.get(Key::ReadIolog).is_none() {
                self.note(self.section.line, "rw is not given: fio reads in order");
            }
            return Ok(Rw::Read);
        };
        Ok(rw)
    }

    fn bs(&mut self) -> Result<[Bytes; 3], InteropError> {
        let Some(entry) = self.section.get(Key::Bs).cloned() else { return Ok([BS_DEFAULT; 3]) };
        let text = entry.value.as_deref().unwrap_or("");
        if text.contains([':', '-']) {
            let note = format!("`{}` is a size of reads and one of writes to fio; a range is bsrange", shown(text));
            self.note(entry.line, note);
        }
        let mut sizes = [BS_DEFAULT; 3];
        let slots: Vec<&str> = text.split([',', ':', '-']).collect();
        if slots.len() > sizes.len() {
            let fault = (format!("it has {} sizes", slots.len()), "give those of reads, writes and trims".into());
            return Err(self.refuse(&entry, fault));
        }
        for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| !slot.is_empty()) {
            let (size, note) = values::bytes(slot, entry.base).map_err(|fault| self.refuse(&entry, fault))?;
            if size == Bytes::ZERO {
                return Err(self.refuse(&entry, ("a size is 0".into(), "give a block size, such as 4k".into())));
            }
            if let Some(text) = note {
                self.note(entry.line, text);
            }
            // The last size that is given holds for the directions after it too.
            let last = index + 1 == slots.len();
            let end = if last { sizes.len() } else { index + 1 };
            sizes[index..end].fill(size);
        }
        Ok(sizes)
    }

    /// The iodepth that the engine leaves of what is asked for.
    fn iodepth(&mut self) -> Result<u32, InteropError> {
        let asked = self.count(Key::Iodepth)?.unwrap_or(1);
        let depth_line = self.section.get(Key::Iodepth).map_or(self.section.line, |entry| entry.line);
        let Some(entry) = self.section.get(Key::Ioengine) else {
            if asked > 1 {
                let note = "no ioengine is given: fio's default keeps one request outstanding, here iodepth counts";
                self.note(depth_line, note);
            }
            return Ok(asked);
        };
        let name = entry.value.as_deref().unwrap_or("");
        match options::engine(name) {
            Engine::Asynchronous => Ok(asked),
            Engine::Synchronous => {
                if asked > 1 {
                    self.note(depth_line, format!("{name} keeps one request outstanding, whatever the iodepth: 1"));
                }
                Ok(1)
            }
            Engine::Other => {
                let remedy = "use io_uring or libaio, or psync for one request at a time";
                Err(self
                    .refuse(entry, (format!("`{}` is no engine for blocks of a drive", shown(name)), remedy.into())))
            }
        }
    }

    /// `rwmixread` and `rwmixwrite` are one value; the later of the two counts.
    fn rwmixread(&mut self) -> Result<u8, InteropError> {
        let percent = |_: &Entry, text: &str| match values::count(text)? {
            share @ 0..=100 => Ok(share as u8),
            share => Err((format!("it is {share}"), "use 0 to 100".to_owned())),
        };
        let read = self.read(Key::Rwmixread, percent)?;
        let write = self.read(Key::Rwmixwrite, percent)?;
        let is_mix = |entry: &&Entry| matches!(entry.key, Key::Rwmixread | Key::Rwmixwrite);
        let later = self.section.content.entries.iter().rev().find(is_mix);
        let share = match (later.map(|entry| entry.key), read, write) {
            (Some(Key::Rwmixwrite), _, Some(write)) => 100 - write,
            (_, Some(read), _) => read,
            _ => HALF,
        };
        if let (Some(read), Some(write), Some(entry)) = (read, write, later)
            && u32::from(read) + u32::from(write) != 100
        {
            let text =
                format!("rwmixread {read} and rwmixwrite {write} don't add up: the later one counts, {share} % reads");
            self.note(entry.line, text);
        }
        Ok(share)
    }

    fn durability(&self) -> Result<Durability, InteropError> {
        let every = |key| self.read(key, |_, text| values::count(text)).map(Option::unwrap_or_default);
        let dsync = self.read(Key::Sync, |_, text| match text {
            "0" | "none" => Ok(false),
            "1" | "sync" | "dsync" => Ok(true),
            _ => Err((format!("`{}` is no kind of sync", shown(text)), "use 0, 1, sync or dsync".into())),
        })?;
        let (fsync_every, fdatasync_every) = (every(Key::Fsync)?, every(Key::Fdatasync)?);
        if let (1.., 1.., Some(entry)) = (fsync_every, fdatasync_every, self.section.get(Key::Fdatasync)) {
            let fault = ("fsync is given too".into(), "give one of the two: fsync does all that fdatasync does".into());
            return Err(self.refuse(entry, fault));
        }
        Ok(Durability { fsync_every, fdatasync_every, dsync: dsync.unwrap_or(false) })
    }

    /// Of a job that writes nothing, which inherits much from a global section.
    fn drop_what_is_about_writes(&mut self, job: &mut FioJob) {
        for key in [Key::Fsync, Key::Fdatasync, Key::Sync] {
            if let Some(entry) = self.section.get(key).filter(|_| job.durability != Durability::default()) {
                self.note(entry.line, format!("{} changes nothing here: {} writes nothing", entry.name, job.name));
            }
        }
        (job.durability, job.data) = (Durability::default(), Data::default());
    }

    fn drop_the_mix(&mut self, job: &mut FioJob) {
        for key in [Key::Rwmixread, Key::Rwmixwrite] {
            if let Some(entry) = self.section.get(key) {
                self.note(entry.line, format!("{} changes nothing here: {} is no mix", entry.name, job.name));
            }
        }
        job.rwmixread = HALF;
    }

    fn check_times(&mut self, job: &FioJob) -> Result<(), InteropError> {
        if let (true, None, Some(entry)) = (job.time_based, job.runtime, self.section.get(Key::TimeBased)) {
            return Err(self.refuse(entry, ("there is no runtime".into(), "give one, such as runtime=60".into())));
        }
        if let (Some(runtime), Some(entry)) = (job.runtime, self.section.get(Key::Ramp))
            && job.ramp > runtime
        {
            let line = entry.line;
            let text = format!("ramp_time {} is longer than runtime {runtime}; here all of it comes first", job.ramp);
            self.note(line, text);
        }
        Ok(())
    }
}

/// fio's word for an access pattern.
fn rw(text: &str) -> Result<Rw, Fault> {
    const WORDS: [(&str, Rw); 9] = [
        ("read", Rw::Read),
        ("write", Rw::Write),
        ("randread", Rw::RandRead),
        ("randwrite", Rw::RandWrite),
        ("randrw", Rw::RandRw),
        ("rw", Rw::ReadWrite),
        ("readwrite", Rw::ReadWrite),
        ("trim", Rw::Trim),
        ("randtrim", Rw::RandTrim),
    ];
    if let Some((_, rw)) = WORDS.iter().find(|(word, _)| *word == text) {
        return Ok(*rw);
    }
    if matches!(text, "trimwrite" | "randtrimwrite") {
        return Err(("pairs of a trim and a write are not taken over".into(), "use trim and write in two jobs".into()));
    }
    if let Some((word, _)) = text.split_once(':') {
        let reason = "what follows the colon changes the order of offsets, which is not taken over";
        return Err((reason.into(), format!("write rw={}", shown(word))));
    }
    let near = flashlab_spec::nearest(text, WORDS.iter().map(|(word, _)| *word));
    let all = || WORDS.map(|(word, _)| word).join(", ");
    let remedy = near.map_or_else(|| format!("use one of {}", all()), |near| format!("did you mean `{near}`?"));
    Err((format!("`{}` is no access pattern", shown(text)), remedy))
}
