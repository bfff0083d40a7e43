//! The page: nothing in it can break out, nothing is fetched, and what a reader must know is said.

mod common;

use flashlab_analysis::{RunRecord, RunStatus};
use flashlab_report::html;
use serde_json::Value;

const HOSTILE: &str = "</script><!--<img src=x onerror=alert(1)>\u{1b}[31m\u{202e}\"'&%{x}";

fn page(runs: &[RunRecord]) -> String {
    html(runs, &[], "t").expect("finite figures")
}

/// The page without the chart library.
fn own(page: &str) -> String {
    let start = page.find("<script id=\"chart-library\">").expect("the library is inside");
    let end = start + page[start..].find("</script>").expect("it ends");
    format!("{}{}", &page[..start], &page[end..])
}

/// The chart data as the script reads it.
fn charts(page: &str) -> Vec<Value> {
    let marker = "id=\"chart-data\">";
    let start = page.find(marker).expect("chart data") + marker.len();
    let end = start + page[start..].find("</script>").expect("it ends");
    serde_json::from_str(&page[start..end]).expect("JSON")
}

#[test]
fn hostile_strings_stay_text() {
    let mut run = common::measured_quick(3, 6);
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
            }
        }
    }
    let page = html(&[run], &[], HOSTILE).expect("finite figures");
    let own = own(&page);
    assert_eq!(page.matches("</script>").count(), 3, "data, library, drawing");
    assert!(!own.contains("<img") && !own.contains("<!--"), "markup of a device came through");
    assert!(!own.contains('\u{1b}') && !own.contains('\u{202e}'), "control characters came through");
    let labels = serde_json::to_string(&charts(&page)).expect("JSON");
    assert!(labels.contains("&lt;img") && !labels.contains("<img"), "labels are text to the chart library too");
}

#[test]
fn nothing_is_fetched() {
    let runs = [common::modelled_review(&[1, 8], &[1, 4]), common::measured_quick(3, 6)];
    let page = html(&runs, &[common::profile()], "t").expect("finite figures");
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

#[test]
fn several_runs_of_one_workload_share_a_chart_with_a_line_each() {
    let one = common::modelled_review(&[1, 8], &[1, 4]);
    let mut other = one.clone();
    other.provenance.target.id = "other".into();
    let charts = charts(&page(&[one, other]));
    let names: Vec<&str> =
        charts[0]["data"].as_array().expect("lines").iter().filter_map(|l| l["name"].as_str()).collect();
    assert_eq!(names, ["sample-122, 16/1", "other, 16/1"]);
}

#[test]
fn no_runs_no_panic() {
    assert!(page(&[]).contains("No result was taken."));
}
