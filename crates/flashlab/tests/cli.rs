//! The command line itself: what it prints without a run.

mod common;

use common::{FLASHLAB, Place, skipped, system};
use serde_json::Value;
use std::process::{Command, Stdio};

const COMMANDS: &[&str] = &[
    "review",
    "run",
    "load",
    "plan",
    "list",
    "report",
    "export",
    "compare",
    "fidelity",
    "what-if",
    "drives",
    "hosts",
    "suites",
    "doctor",
    "completions",
    "man",
];

#[test]
fn no_arguments_say_how_to_begin() {
    let done = Place::new().flashlab("").code(0);
    for words in ["Usage: flashlab", "flashlab review", "flashlab run quick", "Exit codes: 0 done"] {
        assert!(done.out.contains(words), "no {words} in\n{}", done.out);
    }
    for command in COMMANDS {
        assert!(done.out.contains(&format!("\n  {command}")), "no {command} in\n{}", done.out);
    }
    assert_eq!(done.err, "");
}

#[test]
fn each_command_has_help() {
    let place = Place::new();
    for command in COMMANDS {
        let done = place.flashlab(&format!("{command} --help")).code(0);
        assert!(done.out.contains(&format!("Usage: flashlab {command}")) && done.err.is_empty(), "{done:?}");
    }
    assert_eq!(place.flashlab("--version").code(0).out, format!("flashlab {}\n", env!("CARGO_PKG_VERSION")));
    assert!(place.listing().is_empty());
}

#[test]
fn completions_and_the_manual_page_come_from_the_same_source() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = place.flashlab(&format!("completions {shell}")).code(0).out;
        assert!(COMMANDS.iter().all(|command| text.contains(command)), "{shell}:\n{text}");
        assert!(text.contains("destroy-data"), "{shell}");
    }
    let bash = place.flashlab("completions bash").out;
    let path = place.write("completions.bash", bash);
    if let Err(reason) = system("bash", &["-n", path.to_str().expect("a Unicode path")]) {
        assert!(reason.contains("No such file"), "{reason}");
        skipped(&format!("completions read by bash: {reason}"));
    }
    let man = place.flashlab("man").code(0).out;
    assert!(man.contains(".TH flashlab") && man.contains("review") && man.contains("Exit codes"), "{man}");
}

#[test]
fn each_parameter_of_a_drive_has_a_source() {
    let place = Place::new();
    let list = place.flashlab("drives").code(0).out;
    assert!(list.contains("r6060-122") && list.contains("122.88 TB"), "{list}");
    let text = place.flashlab("drives show r6060-122").code(0).out;
    let json = place.flashlab("drives show r6060-122 --json -").code(0).json();
    let tables = json[0]["parameters"].as_object().expect("tables");
    let words = ["spec", "published", "inferred", "fitted", "assumed"];
    let mut count = 0;
    for (table, parameters) in tables {
        for (key, parameter) in parameters.as_object().expect("parameters") {
            let source = parameter["source"].as_str().expect("a source");
            assert!(
                words.contains(&source) && parameter["note"].as_str().is_some_and(|n| !n.is_empty()),
                "{parameter}"
            );
            let name = format!("{table}.{key} ");
            let row =
                text.lines().find(|line| line.starts_with(&name)).unwrap_or_else(|| panic!("no {name}in\n{text}"));
            assert!(row.split_whitespace().any(|word| word == source), "{row}");
            count += 1;
        }
    }
    assert!(count > 20, "{count} parameters");
}

#[test]
fn each_parameter_of_a_host_has_a_source() {
    let place = Place::new();
    let list = place.flashlab("hosts").code(0).out;
    for host in ["fio", "gdsio", "checkpoint"] {
        assert!(list.contains(host), "{list}");
        let text = place.flashlab(&format!("hosts show {host}")).code(0).out;
        let json = place.flashlab(&format!("hosts show {host} --json -")).code(0).json();
        let keys = json[0].as_object().expect("a host").iter().filter(|(_, value)| value["source"].is_string());
        let mut count = 0;
        for (key, value) in keys {
            let row = text.lines().find(|line| line.starts_with(&format!("{host}.{key} ")));
            let row = row.unwrap_or_else(|| panic!("no {key} in\n{text}"));
            assert!(row.contains(value["source"].as_str().expect("a word")), "{row}");
            count += 1;
        }
        assert!(count >= 2 && text.contains("acts on"), "{text}");
    }
    let unknown = place.flashlab("hosts show gdsoi").code(2).err;
    assert!(unknown.contains("did you mean `gdsio`?"), "{unknown}");
}

#[test]
fn a_built_in_suite_is_a_text_to_begin_with() {
    let place = Place::new();
    let list = place.flashlab("suites").code(0).out;
    for suite in ["quick", "review"] {
        assert!(list.contains(suite), "{list}");
        let text = place.flashlab(&format!("suites show {suite}")).code(0).out;
        place.write("mine.toml", text);
        let [own, built_in] = ["./mine.toml", suite]
            .map(|name| place.flashlab(&format!("plan {name} --on ./new.img --size 64M --json -")).code(0).out);
        assert_eq!(own, built_in);
    }
}

#[test]
fn doctor_says_what_there_is() {
    let place = Place::new();
    let done = place.flashlab("doctor --json - --on .");
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
    let json = done.json();
    let checks = json["checks"].as_array().expect("checks");
    for name in ["kernel", "io_uring", "permissions", "CPU governor"] {
        let check = checks.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("no {name}: {json}"));
        assert!(check["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{check}");
    }
    let broken = checks.iter().any(|check| check["state"] == "MISSING");
    assert_eq!(done.code == Some(1), broken, "{json}");
    assert!(json["devices"].is_array());
    let text = place.flashlab("doctor").out;
    assert!(text.contains("Block devices, and why each is protected"), "{text}");
    assert!(place.listing().is_empty());
}

#[test]
fn no_colour_where_there_is_no_terminal() {
    let place = Place::new();
    let mut all = String::new();
    for arguments in ["", "drives", "drives show r6060-122", "suites", "doctor", "plan quick --on r6060-122", "run --x"]
    {
        let done = place.flashlab(arguments);
        all.push_str(&(done.out + &done.err));
    }
    assert!(!all.contains('\x1b'));
}

#[test]
fn colour_on_a_terminal_unless_no_color_says_otherwise() {
    let place = Place::new();
    let terminal = |environment: &str| {
        let command = format!("{environment} {FLASHLAB} drives");
        place.command("script", &["--quiet", "--return", "--command", &command, "/dev/null"])
    };
    if let Err(reason) = system("script", &["--quiet", "--return", "--command", "true", "/dev/null"]) {
        return skipped(&format!("colour on a terminal: {reason}"));
    }
    let plain = terminal("NO_COLOR=1").code(0).out;
    assert!(plain.contains("r6060-122") && !plain.contains('\x1b'), "{plain:?}");
    assert!(terminal("NO_COLOR= TERM=xterm").code(0).out.contains('\x1b'));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for arguments in [&["drives", "show", "r6060-122"][..], &["man"], &["completions", "bash"], &["--help"]] {
        let mut command = Command::new(FLASHLAB);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a child");
        // Closed before the program has begun to write.
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("an end");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(0) && said.is_empty(), "{arguments:?}: {:?} {said}", output.status);
    }
}

#[test]
fn the_store_can_be_named_once_for_all_commands() {
    let place = Place::new();
    place.write("tiny.toml", common::TINY);
    let named = |arguments: &str| {
        let mut command = assert_cmd::Command::new(FLASHLAB);
        command.args(arguments.split_whitespace()).current_dir(place.path("")).env("FLASHLAB_STORE", "named.db");
        command.assert().success().get_output().stdout.clone()
    };
    named("run ./tiny.toml --on r6060-122 --size 64M");
    assert!(place.path("named.db").exists() && !place.path("flashlab.db").exists());
    let runs: Value = serde_json::from_slice(&named("list --json -")).expect("JSON");
    assert_eq!(runs.as_array().map(Vec::len), Some(1));
    // An option goes before the environment.
    named("run ./tiny.toml --on r6060-122 --size 64M --store other.db");
    assert_eq!((place.runs("named.db").len(), place.runs("other.db").len()), (1, 1));
}

#[test]
fn without_a_name_the_store_of_a_review_is_found() {
    let place = Place::new();
    place.write("tiny.toml", common::TINY);
    std::fs::create_dir(place.path("review")).expect("a folder");
    place.flashlab("run ./tiny.toml --on r6060-122 --size 64M --store review/flashlab.db").code(0);
    assert!(place.flashlab("list").code(0).err.contains("review/flashlab.db"));
}
