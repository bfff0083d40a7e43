//! The page: nothing in it can break out, nothing is fetched, and what a reader must know is said.

mod common;

use flashlab_analysis::{RunRecord, RunStatus};
use flashlab_report::html;
use serde_json::Value;

const HOSTILE: &str = "</script><!--<img src=x onerror=alert(1)>\u{1b}[31m\u{202e}\"'&%{x}";

fn page(runs: &[RunRecord]) -> String {
    html(runs, &[], &[], "t").expect("finite figures")
}

/// The page without the chart library.
fn own(page: &str) -> String {
    let start = page.find("<script type=\"text/plain\" id=\"chart-library\">").expect("the library is inside");
    let end = start + page[start..].find("</script>").expect("it ends");
    format!("{}{}", &page[..start], &page[end..])
}

/// The charts as the script reads them.
fn charts(page: &str) -> Vec<Value> {
    chart_data(page)["charts"].as_array().expect("charts").clone()
}

/// All chart data as the script reads it.
fn chart_data(page: &str) -> Value {
    let marker = "id=\"chart-data\">";
    let start = page.find(marker).expect("chart data") + marker.len();
    let end = start + page[start..].find("</script>").expect("it ends");
    serde_json::from_str(&page[start..end]).expect("JSON")
}

#[test]
fn hostile_strings_stay_text() {
    let mut run = common::measured_quick(3, 6);
    // As a target of a later kind might say it.
    let stages =
        common::modelled_review(&[1], &[1]).points().find_map(|p| Some(p.job.clone()?.classes)).expect("stages");
    run.suite.title = HOSTILE.into();
    run.suite.limits = vec![HOSTILE.into()];
    run.provenance.host = Some(HOSTILE.into());
    run.status = RunStatus::Failed(HOSTILE.into());
    let target = &mut run.provenance.target;
    target.id = HOSTILE.into();
    (target.model, target.serial) = (Some(HOSTILE.into()), Some(HOSTILE.into()));
    (target.path, target.firmware) = (Some(HOSTILE.into()), Some(HOSTILE.into()));
    for step in &mut run.steps {
        step.title = HOSTILE.into();
        step.remarks = vec![HOSTILE.into()];
        for point in &mut step.points {
            point.at.workload = format!("{}{HOSTILE}", point.at.workload);
            point.remarks = vec![HOSTILE.into()];
            if let Some(job) = &mut point.job {
                job.granted.refused = vec![HOSTILE.into()];
                job.classes = stages.clone();
                job.classes[0].class = HOSTILE.into();
                job.classes[0].stages[2].stage = HOSTILE.into();
            }
        }
    }
    let page = html(&[run], &[], &[], HOSTILE).expect("finite figures");
    let own = own(&page);
    assert_eq!(page.matches("</script>").count(), 3, "data, library, drawing");
    assert!(!own.contains("<img") && !own.contains("<!--"), "markup of a device came through");
    assert!(!own.contains('\u{1b}') && !own.contains('\u{202e}'), "control characters came through");
    let labels = chart_data(&page).to_string();
    assert!(labels.contains("&lt;img") && !labels.contains("<img"), "labels are text to the chart library too");
}

#[test]
fn nothing_is_fetched() {
    let runs = [common::modelled_review(&[1, 8], &[1, 4]), common::measured_quick(3, 6)];
    let page = html(&runs, &[common::profile()], &[], "t").expect("finite figures");
    let own = own(&page);
    for way in ["src=", "http://", "https://", "@import", "url("] {
        assert!(!own.contains(way), "{way}");
    }
    assert!(own.contains("default-src 'none'"));
    assert!(page.len() > own.len() + 1_000_000, "the chart library is inside");
}

#[test]
fn every_chart_says_what_it_shows() {
    let runs = [common::modelled_review(&[1, 8], &[1, 4]), common::measured_quick(3, 6)];
    for run in &runs {
        let word = run.provenance.origin.word().to_uppercase();
        let charts = charts(&page(std::slice::from_ref(run)));
        assert!(charts.len() >= 8, "{}", charts.len());
        for chart in &charts {
            let layout = &chart["layout"];
            let tag = layout["annotations"][0]["text"].as_str().unwrap_or_default();
            assert!(tag.starts_with(&format!("{word} · ")), "origin and state: {tag}");
            for axis in ["xaxis", "yaxis"] {
                let title = layout[axis]["title"]["text"].as_str().unwrap_or_default();
                assert!(title.contains('(') && title.ends_with(')'), "a unit: {title}");
            }
            for line in chart["data"].as_array().expect("lines") {
                let count = |key: &str| line[key].as_array().map(Vec::len);
                assert_eq!((count("x"), count("y")), (count("text"), count("text")), "each mark has a hover text");
            }
        }
    }
}

/// The bars of where the time went: one run has a bar a load, several a bar a drive; each is whole.
#[test]
fn the_time_of_requests_is_broken_down() {
    let one = common::modelled_review(&[1, 8], &[1, 4]);
    let mut other = one.clone();
    other.provenance.target.id = "other".into();
    for (runs, bars, title) in
        [(vec![one.clone()], 4, "Load (iodepth/numjobs · mean)"), (vec![one.clone(), other], 2, "Drive (name · mean)")]
    {
        let page = page(&runs);
        let stacked: Vec<Value> =
            charts(&page).into_iter().filter(|chart| chart["layout"]["barmode"] == "stack").collect();
        // Sequential writes once and three grids; the fills only prepare.
        assert_eq!(stacked.len(), 4);
        let reads = &stacked[3];
        assert_eq!(reads["layout"]["yaxis"]["title"]["text"], title);
        let names: Vec<&str> =
            reads["data"].as_array().expect("lines").iter().filter_map(|l| l["name"].as_str()).collect();
        assert_eq!(names, ["host", "controller", "die wait", "link"], "without the stage that takes no time");
        for bar in 0..bars {
            let part = |line: &Value| line["x"][bar].as_f64().expect("a share");
            let whole: f64 = reads["data"].as_array().expect("lines").iter().map(part).sum();
            assert!((whole - 100.0).abs() < 0.01, "bar {bar}: {whole} %");
        }
        assert!(page.contains("Where the time of a mapped read goes") && page.contains("Mean time in each stage"));
    }
    let measured = page(&[common::measured_quick(2, 5)]);
    assert!(!measured.contains("Where the time of"), "a file does not say");
}

/// Wear is shown where the drive says it, and without a rating its share of the life is no zero.
#[test]
fn wear_is_shown_where_it_is_known() {
    let mut run = common::modelled_review(&[1], &[1]);
    let page_of = |run: &RunRecord| own(&page(std::slice::from_ref(run)));
    let without = page_of(&run);
    assert!(without.contains("id=\"wear\"") && without.contains("data-label=\"Life used\">–"), "no rating is no zero");
    for health in run.steps.iter_mut().flat_map(|s| &mut s.points).filter_map(|p| p.job.as_mut()?.health.as_mut()) {
        health.percentage_used = Some(0.25);
    }
    assert!(page_of(&run).contains("data-label=\"Life used\">0.250 %"));
    assert!(!page_of(&common::measured_quick(2, 5)).contains("id=\"wear\""), "a file has no log");
}

#[test]
fn a_single_point_is_a_table_and_no_empty_chart() {
    let mut run = common::modelled_review(&[1], &[1]);
    run.steps.retain(|s| s.points.iter().all(|p| p.at.workload == "seq-write-128k"));
    run.steps.iter_mut().flat_map(|s| &mut s.points).for_each(|p| p.job = None);
    let page = page(&[run]);
    assert!(charts(&page).is_empty());
    assert!(page.contains("3.64 GB/s"), "the number is there");
}

#[test]
fn runs_that_did_not_end_are_said_so_first() {
    let mut run = common::measured_quick(1, 3);
    run.steps_planned = 40;
    for (status, says) in [
        (RunStatus::Unfinished, "still running or was killed. 6 of 40 steps"),
        (RunStatus::Interrupted, "was interrupted. 6 of 40 steps"),
        (RunStatus::Failed("EIO at byte 4096".into()), "failed after 6 of 40 steps: EIO at byte 4096"),
    ] {
        run.steps.truncate(6);
        run.status = status;
        let page = page(std::slice::from_ref(&run));
        let (at, short) = (page.find(says), page.find("In short"));
        assert!(at.is_some() && at < short, "{says}");
    }
    run.status = RunStatus::Done;
    assert!(!page(&[run]).contains("role=\"alert\""));
}

#[test]
fn steady_state_is_judged_in_words_and_never_claimed_too_early() {
    let said = |rounds| page(&[common::measured_quick(1, rounds)]);
    assert!(said(9).contains("The rule for steady state is met after 9 rounds"));
    assert!(said(3).contains("No verdict on steady state: 3 of the 5 rounds"));
    assert!(said(5).contains("is not met so far, after 5 rounds"));
}

fn chart_of<'a>(charts: &'a [Value], tag_end: &str, axis: &str) -> &'a Value {
    let is = |c: &&Value| {
        let layout = &c["layout"];
        let tag = layout["annotations"][0]["text"].as_str().unwrap_or_default();
        tag.ends_with(tag_end) && layout["yaxis"]["title"]["text"].as_str().unwrap_or_default().starts_with(axis)
    };
    charts.iter().find(is).expect("the chart")
}

#[test]
fn several_runs_of_one_workload_share_a_chart_with_a_line_each() {
    let charts = charts(&page(&common::review_of(&["sample-122", "other"])));
    let chart = chart_of(&charts, "rand-read-4k", "IOPS");
    let lines = chart["data"].as_array().expect("lines");
    let joined: Vec<&Value> = lines.iter().filter(|l| l["mode"] == "lines+markers").collect();
    assert_eq!(joined.iter().map(|l| &l["name"]).collect::<Vec<_>>(), ["sample-122", "other"]);
    assert_ne!(joined[0]["line"]["color"], joined[1]["line"]["color"]);
    assert_ne!(joined[0]["marker"]["symbol"], joined[1]["marker"]["symbol"]);
    assert_eq!((&joined[0]["meta"]["drive"], &joined[1]["meta"]["drive"]), (&Value::from(0), &Value::from(1)));
}

#[test]
fn where_combinations_share_a_load_the_best_is_on_the_line_and_all_are_drawn() {
    let mut runs = common::review_of(&["sample-122", "other"]);
    for run in &mut runs {
        *run = RunRecord { ..run.clone() };
        let extra = run
            .steps
            .iter()
            .flat_map(|s| &s.points)
            .find(|p| p.at.workload == "rand-read-4k" && (p.at.iodepth, p.at.numjobs) == (Some(1), Some(4)));
        let mut slower = extra.expect("a point").clone();
        (slower.at.iodepth, slower.at.numjobs) = (Some(2), Some(2));
        slower.metrics.iter_mut().filter(|m| m.name.word() == "iops").for_each(|m| m.value /= 2.0);
        run.steps.last_mut().expect("steps").points.push(slower);
    }
    let charts = charts(&page(&runs));
    let lines = chart_of(&charts, "rand-read-4k", "IOPS")["data"].as_array().expect("lines").clone();
    let of = |mode: &str| lines.iter().filter(|l| l["mode"] == mode).cloned().collect::<Vec<_>>();
    assert_eq!(of("lines+markers")[0]["x"], serde_json::json!([1.0, 4.0, 8.0, 32.0]));
    assert_eq!(of("markers")[0]["x"], serde_json::json!([4.0]), "the slower of two at 4 outstanding");
}

#[test]
fn published_figures_stand_beside_their_own_drive_only() {
    let published = common::published();
    let page = html(&common::review_of(&["sample-122", "other"]), &[], &published, "t").expect("finite figures");
    let all = charts(&page);
    let hollow = |chart: &Value| -> Vec<Value> {
        let lines = chart["data"].as_array().expect("lines");
        lines.iter().filter(|l| l["meta"]["published"] == true).cloned().collect()
    };
    let read = hollow(chart_of(&all, "rand-read-4k", "IOPS"));
    assert_eq!(read.len(), 1, "the other drive has none");
    assert_eq!((&read[0]["name"], &read[0]["x"]), (&Value::from("sample-122"), &serde_json::json!([32.0, 256.0])));
    let write = hollow(chart_of(&all, "rand-write-64k", "Bandwidth"));
    assert_eq!(write[0]["y"], serde_json::json!([56_000.0 * 65_536.0 / 1e9]), "IOPS of a known block, as bandwidth");
    assert_eq!(hollow(chart_of(&all, "rand-read-64k", "Mean latency"))[0]["y"], serde_json::json!([60.0]));
    assert!(hollow(chart_of(&all, "rand-read-64k", "Bandwidth")).is_empty(), "a latency is no rate");
    assert!(page.contains("3,700 MB/s at the top of the sweep (sample review); here 3.63 GB/s (−1.9 %)"));
    assert!(page.contains("id=\"fidelity\"") && page.contains("1 published figures of these drives have no result"));

    let mut measured = common::review_of(&["sample-122"]);
    measured[0].provenance.target.kind = flashlab_samples::TargetKind::BlockDevice;
    measured[0].provenance.origin = flashlab_samples::Origin::Measured;
    let page = html(&measured, &[], &published, "t").expect("finite figures");
    assert!(charts(&page).iter().all(|c| hollow(c).is_empty()), "a real drive is another piece");
    assert!(!page.contains("id=\"fidelity\""));
}

#[test]
fn checkpoints_of_unlike_drives_lie_over_each_other_pass_by_pass() {
    let runs = [common::checkpoints("small", 3, 2), common::checkpoints("large", 6, 2)];
    let published = [flashlab_analysis::PublishedPoint {
        drive_id: "small".into(),
        suite: "checkpoint".into(),
        workload: "checkpoint".into(),
        iodepth: None,
        numjobs: None,
        pass: Some(2),
        metric: flashlab_samples::MetricName::Seconds,
        value: 550.0,
        ..common::published()[0].clone()
    }];
    let page = html(&runs, &[], &published, "t").expect("finite figures");
    let all = charts(&page);
    let singles = chart_of(&all, "checkpoint-single", "Time of a checkpoint (s)");
    let x = |line: usize| {
        singles["data"][line]["x"].as_array().expect("x").iter().filter_map(Value::as_f64).collect::<Vec<_>>()
    };
    assert_eq!(x(0).iter().filter(|x| **x < 1.0).count(), 3);
    assert_eq!(x(1).iter().filter(|x| **x < 1.0).count(), 6);
    assert!(x(0).iter().chain(&x(1)).all(|x| *x > 0.0 && *x < 2.0));
    assert_eq!(singles["layout"]["shapes"][0]["x0"], 1.0, "the end of the first pass is marked");
    let passes = chart_of(&all, "· checkpoint", "Mean time of a checkpoint (s)");
    assert_eq!(passes["data"][0]["x"], serde_json::json!([1.0, 2.0]));
    assert_eq!(passes["data"][1]["y"], serde_json::json!([550.0]), "published, of the second pass");
    assert!(page.contains("Checkpoint, pass 2 (s)") && !page.contains("Checkpoint, pass 3"));
    assert!(chart_data(&page).to_string().contains("published 550.0 s (sample review); here −8.9 %"), "beside ours");
}

#[test]
fn the_volume_written_is_that_of_the_whole_drive() {
    let run = common::modelled_review(&[1, 8], &[1, 4]);
    let charts = charts(&page(std::slice::from_ref(&run)));
    let pool = charts.iter().find(|c| c["layout"]["yaxis"]["title"]["text"] == "Free pool (TB)").expect("the chart");
    let written: Vec<f64> = pool["data"][0]["x"].as_array().expect("x").iter().filter_map(Value::as_f64).collect();
    let all: u64 = run.points().filter_map(|p| p.job.as_ref()).map(|job| job.write.bytes.0 * job.scale).sum();
    let before_reads = *written.last().expect("points");
    let unit = if pool["layout"]["xaxis"]["title"]["text"] == "Written (TB)" { 1e12 } else { 1e9 };
    assert!((before_reads * unit / all as f64 - 1.0).abs() < 1e-5, "{before_reads} {all}");
    assert!(written.windows(2).all(|w| w[0] < w[1]));
}

#[test]
fn measured_figures_claim_no_hardware() {
    let page = page(&[common::measured_quick(1, 1)]);
    assert!(page.contains("Measured on this machine") && !page.contains("real hardware"));
}

#[test]
fn drives_can_be_hidden_on_the_whole_page() {
    let runs = common::review_of(&["sample-122", "other"]);
    let own = own(&page(&runs));
    assert_eq!(own.matches("data-shows=").count(), 2);
    assert!(own.contains(".hide-1 [data-drive=\"1\"] { display: none; }"));
    assert!(own.matches("<tr data-drive=\"1\">").count() > runs[1].points().count(), "points and summary");
    let one = self::own(&page(&common::review_of(&["sample-122"])));
    assert!(!one.contains("data-shows=\"") && !one.contains(".hide-0"), "one drive is always shown");
}

#[test]
fn no_runs_no_panic() {
    assert!(page(&[]).contains("No result was taken."));
}
