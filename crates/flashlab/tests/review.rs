//! `flashlab review`: what it leaves, that equal seeds give equal results, and that nothing is
//! replaced unasked.

mod common;

use common::Place;

/// The first line of `results.csv`.
const HEADER: &str = "drive_id,suite,workload,iodepth,numjobs,threads,pass,metric,value,unit,state,provenance";

/// One of the drives through all suites, so that a debug build is done in seconds.
const REVIEW: &str = "review --drives p5430-30 --suite review,gds,checkpoint,steady";

#[test]
fn the_same_seed_gives_the_same_results_and_a_review_is_replaced_only_if_asked() {
    let place = Place::in_memory();
    let [first, second] = std::thread::scope(|scope| {
        let place = &place;
        let review = |out| scope.spawn(move || place.flashlab(&format!("{REVIEW} --out {out}")));
        let runs = ["first --threads 1", "second --threads 3"].map(review);
        runs.map(|run| run.join().expect("a review").code(0))
    });
    assert!(first.out.contains("MODELLED") && first.out.contains("What this does not say"), "{}", first.out);
    assert!(second.err.contains("no hardware was measured"), "{}", second.err);
    let csv = place.read("first/results.csv");
    assert!(csv == place.read("second/results.csv"), "seed 1 twice, on other numbers of threads");
    check_table(&csv);
    check_page(&place.read("first/index.html"));
    let manifest: serde_json::Value = serde_json::from_str(&place.read("first/manifest.json")).expect("JSON");
    assert!(manifest.to_string().contains("modelled"), "{manifest}");
    assert_eq!(place.runs("first/flashlab.db").len(), 4);

    let before = place.listing();
    let refused = place.flashlab("review --out first").code(4);
    assert!(refused.err.contains("--replace") && refused.out.is_empty(), "{}", refused.err);
    assert_eq!(place.listing(), before);

    place.flashlab("review --drives p5430-30 --suite steady --out first --replace --seed 2").code(0);
    let replaced = place.read("first/results.csv");
    let of_steady =
        |csv: &str| csv.lines().filter(|row| row.contains(",steady,")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(of_steady(&csv).len(), of_steady(&replaced).len());
    assert!(of_steady(&csv) != of_steady(&replaced), "another seed, other random writes");
    let runs = place.runs("first/flashlab.db");
    assert_eq!(runs.len(), 5, "the store is kept and added to");
    assert!(runs.iter().all(|run| run["status"] == "done" && run["steps_done"] == run["steps_planned"]), "{runs:?}");
    // The earlier runs are still there, and export what they exported then.
    let steady = runs.iter().find(|run| run["suite_id"] == "steady").expect("a run of steady")["id"].clone();
    let exported = place.flashlab(&format!("export {steady} --csv --store first/flashlab.db")).code(0).out;
    assert!(of_steady(&exported) == of_steady(&csv));
}

fn check_table(csv: &str) {
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some(HEADER));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    for row in &rows {
        assert_eq!(row.len(), 12, "{row:?}");
        assert_eq!((row[0], row[11]), ("p5430-30", "modelled"), "{row:?}");
        assert!(row[8].parse::<f64>().is_ok_and(|value| value.is_finite() && value >= 0.0), "{row:?}");
        let unit = match row[7] {
            "bandwidth" => "B/s",
            "iops" => "IOPS",
            "seconds" => "s",
            name if name.starts_with("lat_") => "ns",
            _ => row[9],
        };
        assert_eq!(row[9], unit, "{row:?}");
    }
    for suite in ["review", "gds", "checkpoint", "steady"] {
        let of_suite = rows.iter().filter(|row| row[1] == suite).count();
        assert!(of_suite > 100, "{of_suite} rows of {suite}");
    }
    for workload in ["seq-write-128k", "seq-read-128k", "rand-write-64k", "rand-read-16k", "rand-read-4k"] {
        assert!(rows.iter().any(|row| row[2] == workload && row[7] == "bandwidth"), "no {workload}");
    }
}

/// The page says what it is, and needs no network.
fn check_page(html: &str) {
    assert!(html.contains("MODELLED"));
    // The bodies of scripts are the embedded chart library and its data; what loads anything stands
    // outside of them, in tags and styles.
    let mut outside = String::new();
    let mut rest = html;
    while let Some(start) = rest.find("<script") {
        let body = start + rest[start..].find('>').expect("a whole tag") + 1;
        outside.push_str(&rest[..body]);
        rest = &rest[body + rest[body..].find("</script>").expect("an end")..];
    }
    outside.push_str(rest);
    assert!(outside.len() < html.len() / 2, "the chart library is embedded");
    for loads in ["src=", "href=", "url(", "@import"] {
        for (at, _) in outside.match_indices(loads) {
            let value = outside[at + loads.len()..].trim_start_matches(['"', '\'', ' ']);
            assert!(
                !["http:", "https:", "//"].iter().any(|remote| value.starts_with(remote)),
                "{loads}{}",
                value.chars().take(80).collect::<String>()
            );
        }
    }
}
