//! Profiles that can't work: each is refused with the key, the reason and the nearest value that works.

mod common;

use common::Place;

/// One that does not move when a drive is fitted again.
const PROFILE: &str = include_str!("../../drive/tests/drive.toml");

/// It under another name than that of a built-in drive.
fn profile() -> String {
    PROFILE.replacen("id = \"r6060-122\"", "id = \"attacked\"", 1)
}

/// A line that gives a key its value: the key with its table, the line, and the value as written.
fn lines(text: &str) -> Vec<(String, String, String)> {
    let (mut table, mut found) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = name.trim_end_matches(']').to_owned();
        }
        let Some((key, value)) = line.split_once(" = ") else { continue };
        let value =
            value.strip_prefix("{ value = ").map_or(value, |rest| rest.split(", source").next().unwrap_or(rest));
        let key = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
        found.push((key, line.to_owned(), value.to_owned()));
    }
    found
}

/// The profile with another value for `key`.
fn with(text: &str, key: &str, value: &str) -> String {
    let all = lines(text);
    let (_, line, old) = all.iter().find(|(name, ..)| name == key).unwrap_or_else(|| panic!("no {key}"));
    text.replacen(line, &line.replacen(old, value, 1), 1)
}

/// What the program says of a profile: `None` where it takes it.
fn refusal(place: &Place, text: &str) -> Option<String> {
    place.write("p.toml", text);
    let done = place.flashlab("drives show attacked --profile p.toml");
    assert!(!done.err.contains("panicked"), "{}", done.err);
    (done.code != Some(0)).then(|| done.code(2).err)
}

/// The value that a refusal proposes, as it stands in TOML.
fn proposed(refusal: &str) -> Option<String> {
    let rest =
        ["nearest ", "use at least ", "use at most ", "use "].iter().find_map(|word| refusal.split_once(word))?.1;
    let value = rest.split([',', '\n']).next()?.trim();
    let value = value.strip_suffix(" user capacity").unwrap_or(value).replace(' ', "");
    let is_number = value.parse::<f64>().is_ok();
    Some(if is_number { value } else { format!("\"{value}\"") })
}

/// What stands in a profile by a slip of the hand, or of malice.
const HOSTILE: [&str; 12] = [
    "0",
    "-1",
    "1e30",
    "nan",
    "-inf",
    "4294967296",
    "\"\"",
    "\"-1us\"",
    "\"1e30GB/s\"",
    "\"9000000000GB\"",
    "\"5 parsecs\"",
    "\"999999999s\"",
];

/// Values that work although they are hostile elsewhere: no such cost, or no such thing.
const MAY_BE_ZERO: [&str; 9] = [
    "nand.read_time_spread",
    "capacity.unusable_share",
    "mapping.eager_valid_share",
    "mapping.collect_from_share",
    "mapping.initial_free_share",
    "mapping.sub_unit_free_share",
    "queue_pair.holdoff_next",
    "read_ahead.streams",
    "merge.coalesce",
];

#[test]
fn no_parameter_takes_a_value_that_cannot_work_and_what_is_proposed_works() {
    let (place, text) = (Place::in_memory(), profile());
    let parameters: Vec<String> =
        lines(&text).into_iter().map(|l| l.0).filter(|k| k.starts_with("parameters.")).collect();
    assert!(parameters.len() > 45, "{}", parameters.len());
    let mut mended = 0;
    for key in &parameters {
        for value in HOSTILE {
            let attacked = with(&text, key, value);
            let Some(said) = refusal(&place, &attacked) else {
                let zero = value == "0" && MAY_BE_ZERO.iter().any(|free| key.ends_with(free));
                assert!(zero, "{key} = {value} was taken");
                continue;
            };
            assert!(
                said.contains(&format!("`{key}`")) || said.contains("nand.program_unit"),
                "{key} = {value}: {said}"
            );
            assert!(said.trim().lines().count() >= 2, "{key} = {value} without a remedy: {said}");
            // A text error says what to write; a value error proposes the nearest that works.
            if said.contains(&format!("`{key}` = ")) {
                let nearest = proposed(&said).unwrap_or_else(|| panic!("{key} = {value}: nothing proposed: {said}"));
                let rest = refusal(&place, &with(&text, key, &nearest));
                assert!(rest.is_none_or(|rest| !rest.contains(&format!("`{key}`"))), "{key} = {nearest}, as proposed");
                mended += 1;
            }
        }
    }
    assert!(mended > 60, "{mended} proposals");
}

/// One value, its key, and what must be said.
const ALONE: &[(&str, &str, &[&str])] = &[
    ("parameters.capacity.user", "\"138TB\"", &["the spare is", "below the", "use at most 137"]),
    ("parameters.capacity.user", "\"1TB\"", &["capacity.raw", "spare", "nearest 64TB"]),
    ("parameters.capacity.user", "\"200TB\"", &["capacity.raw", "nearest 200TB"]),
    ("parameters.mapping.reserve_superblocks", "3", &["enough for 2 open superblocks", "nearest 4"]),
    ("parameters.mapping.reserve_superblocks", "4096", &["within the spare of", "nearest "]),
    ("parameters.mapping.handles", "64", &["the spare is", "reserve of 67", "use at most"]),
    ("parameters.mapping.indirection_unit", "\"24KiB\"", &["power of two", "use 32KiB"]),
    ("parameters.mapping.indirection_unit", "\"2KiB\"", &["use 4KiB to 64KiB, nearest 4KiB"]),
    ("parameters.nand.program_unit", "\"100KiB\"", &["whole indirection units of 32 KiB", "use 96KiB"]),
    ("parameters.nand.program_unit", "\"1GiB\"", &["nearest 4MiB"]),
    ("parameters.nand.stripe_dies", "7", &["not whole stripes of 7", "use "]),
    ("parameters.nand.program_time", "\"0\"", &["a time that nothing does without", "nearest 1us"]),
    ("parameters.controller.command_time", "\"0ns\"", &["nearest 1ns"]),
    ("parameters.write.buffer", "\"1KiB\"", &["at least 4 program units", "nearest 1MiB"]),
    ("parameters.write.buffer", "\"10TB\"", &["nearest 64GiB"]),
    ("parameters.link.payload_share", "nan", &["a share of the raw rate", "nearest 0.5"]),
    ("parameters.link.payload_share", "93", &["nearest 1"]),
    ("parameters.link.generation", "7", &["use 3 to 6, nearest 6"]),
    ("parameters.nand.read_time", "\"70MB\"", &["parameters.nand.read_time", "unit `MB` is unknown", "us, ms, s"]),
    ("parameters.nand.dies", "2.5", &["parameters.nand.dies", "expected u32", "a whole number"]),
    ("parameters.nand.read_time", "70", &["expected a string", "in quotes", "unit"]),
    ("rated.power_max_w", "-25.0", &["a power in watts", "nearest 0.1"]),
    ("rated.dwpd", "nan", &["drive writes a day", "nearest 0.001"]),
    ("id", "\"a,b c\"", &["a name is", "use a-b-c"]),
    ("id", "\"\"", &["a name is", "use my-drive"]),
];

#[test]
fn each_refusal_says_why_and_what_would_work() {
    let (place, text) = (Place::in_memory(), profile());
    for (key, value, says) in ALONE {
        let said = refusal(&place, &with(&text, key, value)).unwrap_or_else(|| panic!("{key} = {value} was taken"));
        assert!(said.starts_with("flashlab: p.toml:"), "{said}");
        for words in *says {
            assert!(said.contains(words), "{key} = {value}: no `{words}` in {said}");
        }
    }
}

/// A drive so small, or cut into so many superblocks, that one holds no program, or only one unit.
#[test]
fn a_superblock_holds_more_than_an_indirection_unit() {
    let place = Place::in_memory();
    let small = with(&with(&profile(), "parameters.capacity.user", "\"10GB\""), "parameters.capacity.raw", "\"12GB\"");
    assert_eq!(refusal(&place, &small), None);
    let many = with(&small, "parameters.mapping.superblocks", "65536");
    let said = refusal(&place, &many).expect("refused");
    assert!(said.contains("parameters.mapping.superblocks") && said.contains("smaller than 256 KiB"), "{said}");
    assert_eq!(
        refusal(&place, &with(&many, "parameters.mapping.superblocks", &proposed(&said).expect("a count"))),
        None
    );
}

#[test]
fn unknown_keys_and_missing_ones_are_named() {
    let (place, text) = (Place::in_memory(), profile());
    let unknown = refusal(&place, &text.replacen("dies = ", "dice = ", 1)).expect("refused");
    assert!(unknown.contains("`dice`") && unknown.contains("did you mean `dies`?"), "{unknown}");
    let table = refusal(&place, &text.replacen("[parameters.link]", "[parameters.lnik]", 1)).expect("refused");
    assert!(table.contains("`lnik`") && table.contains("did you mean `link`?"), "{table}");
    let line = text.lines().find(|line| line.starts_with("read_time = ")).expect("a line");
    let missing = refusal(&place, &text.replacen(line, "", 1)).expect("refused");
    assert!(missing.contains("missing field `read_time`") && missing.contains("add the key"), "{missing}");
    let word = refusal(&place, &with(&text, "parameters.mapping.victims", "\"gready\"")).expect("refused");
    assert!(word.contains("`gready`") && word.contains("did you mean `greedy`?"), "{word}");
}
