//! What a section says of where requests go, how large they are, what they carry and how it is checked.

use super::build::Builder;
use super::options::Key;
use super::sections::Entry;
use super::values::{self, Fault};
use crate::InteropError;
use crate::error::shown;
use flashlab_spec::{Data, Offsets, RandomShares, Rw, SizeRule, SizeShare, Sizes, ThinkTime, Verify};
use flashlab_units::{Bytes, Nanos};

/// Sizes of each direction where there are several: of a split, or of a range.
pub(super) fn sizes(builder: &mut Builder<'_>) -> Result<Option<Sizes>, InteropError> {
    let split = builder.read(Key::Bssplit, |entry, text| directions(text, |one| split(entry, one)))?;
    let range = builder.read(Key::Bsrange, |entry, text| directions(text, |one| range(entry, one)))?;
    match (split, range) {
        (Some(_), Some(_)) => {
            let entry = builder.section.get(Key::Bsrange).cloned();
            let fault = ("bssplit is given too".to_owned(), "give one of the two".to_owned());
            entry.map_or(Ok(None), |entry| Err(builder.refuse(&entry, fault)))
        }
        (split, range) => Ok(split.or(range)),
    }
}

/// One rule, or one each for reads, writes and trims; the last holds for the directions after it.
fn directions(text: &str, mut rule: impl FnMut(&str) -> Result<SizeRule, Fault>) -> Result<Sizes, Fault> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 || parts.iter().any(|part| part.is_empty()) {
        let remedy = "give one list, or those of reads, writes and trims with commas between";
        return Err((format!("it has {} directions, or an empty one", parts.len()), remedy.into()));
    }
    let rules = parts.into_iter().map(&mut rule).collect::<Result<Vec<_>, _>>()?;
    let of = |place: usize| rules.get(place).or(rules.last()).cloned();
    match (of(0), of(1), of(2)) {
        (Some(read), Some(write), Some(trim)) => Ok(Sizes { read, write, trim }),
        _ => Err(("it has no size".into(), "write such as 4k/60:64k/40".into())),
    }
}

/// `4k/60:64k/40`; parts without a percentage share what is left.
fn split(entry: &Entry, text: &str) -> Result<SizeRule, Fault> {
    let part = |part: &str| {
        let (bs, percent) = part.split_once('/').map_or((part, ""), |(bs, percent)| (bs, percent));
        let (bs, _) = values::bytes(bs, entry.base)?;
        if percent.contains('.') {
            let remedy = "write whole percent; the split of `flashlab load --sizes` takes fractions";
            return Err((format!("fio reads {percent} as a whole number"), remedy.to_owned()));
        }
        let percent = if percent.is_empty() { None } else { Some(values::count(percent)?) };
        Ok((bs, percent))
    };
    let parts = text.split(':').map(part).collect::<Result<Vec<_>, Fault>>()?;
    let given: u32 = parts.iter().filter_map(|(_, percent)| *percent).fold(0, u32::saturating_add);
    let open = parts.iter().filter(|(_, percent)| percent.is_none()).count();
    if given > 100 || (open == 0 && given != 100) {
        // fio 3.33 takes 110 % in silence.
        return Err((format!("the percentages add up to {given}"), "let them add up to 100".into()));
    }
    let rest = f64::from(100 - given) / open.max(1) as f64;
    let share = |(bs, percent): (Bytes, Option<u32>)| SizeShare { bs, percent: percent.map_or(rest, f64::from) };
    Ok(SizeRule::Split(parts.into_iter().map(share).collect()))
}

/// `4k-64k`, in steps of the smallest size.
fn range(entry: &Entry, text: &str) -> Result<SizeRule, Fault> {
    let Some((min, max)) = text.split_once('-') else {
        return Err((format!("`{}` is no range", shown(text)), "write such as 4k-64k".into()));
    };
    let ((min, _), (max, _)) = (values::bytes(min, entry.base)?, values::bytes(max, entry.base)?);
    Ok(SizeRule::Range { min, max, step: min })
}

/// What random requests are aligned to, where it isn't their smallest size.
pub(super) fn align(builder: &mut Builder<'_>, rw: Rw) -> Result<Option<Bytes>, InteropError> {
    let read = builder.read(Key::Blockalign, |entry, text| {
        let sizes = text.split(',').map(|size| values::bytes(size, entry.base)).collect::<Result<Vec<_>, Fault>>()?;
        match sizes.as_slice() {
            [(first, _), rest @ ..] if *first > Bytes::ZERO && rest.iter().all(|(size, _)| size == first) => {
                Ok((*first, entry.line))
            }
            _ => Err(("it has several alignments, or 0".into(), "give one for all directions".into())),
        }
    })?;
    let Some((align, line)) = read else { return Ok(None) };
    if !rw.is_random() {
        builder.note(line, "blockalign changes nothing here: fio aligns random requests only");
        return Ok(None);
    }
    if !builder.section.is_on(Key::Norandommap) && builder.section.get(Key::Distribution).is_none() {
        builder.note(line, "with blockalign a block may come again before all had their turn, as in fio");
    }
    Ok(Some(align))
}

/// The distribution of random offsets, where one is given.
pub(super) fn distribution(builder: &Builder<'_>) -> Result<Option<Offsets>, InteropError> {
    builder.read(Key::Distribution, |_, text| {
        // fio's own defaults.
        let text = match text {
            "zipf" => "zipf:1.1",
            "pareto" => "pareto:0.2",
            other => other,
        };
        let known = ["random", "zipf:", "pareto:", "normal:", "zoned:"];
        let is_known = known.iter().any(|word| text.starts_with(word));
        text.parse().ok().filter(|_| is_known).ok_or_else(|| {
            let remedy = "use random, zipf:THETA, pareto:H, normal:PERCENT or zoned:ACCESS/SPACE:…";
            (format!("`{}` is no distribution that is taken over", shown(text)), remedy.to_owned())
        })
    })
}

/// Which share of random offsets is asked for; all of them where it says nothing.
pub(super) fn random(builder: &mut Builder<'_>, rw: Rw) -> Result<Option<RandomShares>, InteropError> {
    let read = builder.read(Key::PercentageRandom, |entry, text| {
        let shares = text.parse::<RandomShares>().map_err(|e| (e.to_string(), "write such as 50 or 50,100".into()))?;
        Ok((shares, entry.line))
    })?;
    let Some((shares, line)) = read.filter(|(shares, _)| *shares != RandomShares::all(100)) else { return Ok(None) };
    if !rw.is_random() {
        builder.note(line, "percentage_random changes nothing for a sequential rw: fio asks only a random one");
        return Ok(None);
    }
    if !builder.section.is_on(Key::Norandommap) && builder.section.get(Key::Distribution).is_none() {
        builder.note(line, "with percentage_random a block may come again before all had their turn");
    }
    Ok(Some(shares))
}

/// Pauses between requests.
pub(super) fn think(builder: &mut Builder<'_>) -> Result<Option<ThinkTime>, InteropError> {
    let blocks = builder.read(Key::ThinktimeBlocks, |_, text| match values::count(text)? {
        0 => Err(("it is 0".into(), "use at least 1".to_owned())),
        blocks => Ok(blocks),
    })?;
    // fio takes a plain number for microseconds here.
    let time = builder.read(Key::Thinktime, |_, text| match text.parse::<u64>() {
        Ok(micros) => micros.checked_mul(1_000).map(Nanos).ok_or((format!("`{text}` is too long"), "use 1s".into())),
        Err(_) => values::time(text),
    })?;
    if let (Some(_), Some(entry)) = (time, [Key::Rate, Key::RateIops].iter().find_map(|key| builder.section.get(*key)))
    {
        let fault = ("thinktime is given too, and requests of a rate are due at their times".into(), "give one".into());
        return Err(builder.refuse(entry, fault));
    }
    let think = time.filter(|time| *time > Nanos::ZERO).map(|time| ThinkTime { time, blocks: blocks.unwrap_or(1) });
    if let (None, Some(line)) = (think, builder.section.get(Key::ThinktimeBlocks).map(|entry| entry.line)) {
        builder.note(line, "thinktime_blocks changes nothing without thinktime");
    }
    Ok(think)
}

/// What is written.
pub(super) fn data(builder: &Builder<'_>) -> Result<Data, InteropError> {
    let percent = |_: &Entry, text: &str| match values::count(text)? {
        share @ 0..=100 => Ok(share as u8),
        share => Err((format!("it is {share}"), "use 0 to 100".to_owned())),
    };
    let zeros = builder.section.is_on(Key::ZeroBuffers);
    let pattern = builder.read(Key::BufferPattern, |_, text| pattern(text))?;
    Ok(Data {
        compress_percent: builder.read(Key::Compress, percent)?.unwrap_or(0),
        dedupe_percent: builder.read(Key::Dedupe, percent)?.unwrap_or(0),
        pattern: pattern.unwrap_or_else(|| if zeros { vec![0] } else { Vec::new() }),
    })
}

/// `0xdeadbeef`, or a text in quotes.
fn pattern(text: &str) -> Result<Vec<u8>, Fault> {
    if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))
        && !inner.is_empty()
    {
        return Ok(inner.as_bytes().to_vec());
    }
    let hex = text.starts_with("0x").then(|| text.parse::<flashlab_spec::BytePattern>().ok()).flatten();
    hex.map(|pattern| pattern.0).ok_or_else(|| {
        (format!("`{}` is no pattern that is taken over", shown(text)), "write 0x and two digits a byte".to_owned())
    })
}

/// How blocks are checked: fio reads back what it wrote unless told otherwise, and checks what a job reads.
pub(super) fn verify(builder: &mut Builder<'_>, rw: Rw) -> Result<Verify, InteropError> {
    const NONE: [&str; 2] = ["pattern", "null"];
    let Some(line) = builder.read(Key::Verify, |entry, text| match text {
        kind if NONE.contains(&kind) => {
            Err((format!("`{kind}` checks no header"), "use crc32c, or `flashlab load --data-pattern`".to_owned()))
        }
        _ => Ok(entry.line),
    })?
    else {
        return Ok(Verify::Off);
    };
    builder.note(line, "each block is sealed with this program's own header and CRC32C, whatever the kind");
    let reads_back = builder.read(Key::DoVerify, |_, text| values::flag(Some(text)))?.unwrap_or(true);
    Ok(match (rw.writes(), reads_back) {
        (true, true) => Verify::ReadBack,
        (true, false) => Verify::Stamp,
        (false, _) => Verify::Check,
    })
}
