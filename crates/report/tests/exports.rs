//! What other programs rely on in `results.csv` and `results.json`.

mod common;

use flashlab_report::{
    ReportError, SeriesCsv, fidelity_csv, html, manifest_json, results_csv, results_json, stages_csv,
};
use flashlab_samples::{Interval, LatencyHistogram, MetricName};
use serde_json::Value;

const HEADER: &str = "drive_id,suite,workload,iodepth,numjobs,threads,pass,metric,value,unit,state,provenance";

#[test]
fn a_line_a_figure_in_the_order_in_which_they_were_taken() {
    let run = common::modelled_review(&[1, 8], &[1, 4]);
    let text = results_csv(std::slice::from_ref(&run)).expect("finite figures");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], HEADER);
    let figures: Vec<_> = run.points().flat_map(|p| p.metrics.iter().map(move |m| (p, m))).collect();
    assert_eq!(lines.len() - 1, figures.len());
    for (line, (point, metric)) in lines[1..].iter().zip(figures) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), 12, "{line}");
        assert_eq!(cells[2], point.at.workload);
        assert_eq!(cells[5], "", "no threads here");
        assert_eq!(cells[7], metric.name.word());
        assert_eq!(cells[8].parse(), Ok(metric.value), "the text reads back to the same number");
        assert_eq!(cells[9..], [metric.name.unit(), point.state.condition.word(), "modelled"]);
    }
    assert!(text.contains("sample-122,review,fill-128k,16,1,,2,bandwidth,"), "a pass where it applies");
}

#[test]
fn equal_runs_export_equal_files_whenever_and_wherever_they_ran() {
    let run = common::measured_quick(2, 5);
    let mut later = run.clone();
    later.id = 99;
    later.provenance.started = Some("2031-01-01T00:00:00Z".into());
    later.provenance.host = Some("elsewhere".into());
    later.provenance.build.commit = None;
    assert_eq!(results_csv(&[run]).ok(), results_csv(&[later]).ok());
}

#[test]
fn stages_are_a_line_each_and_add_up_to_the_mean() {
    let run = common::modelled_review(&[1, 8], &[1, 4]);
    let text = stages_csv(&[run.clone(), common::measured_quick(2, 5)]).expect("finite figures");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = "drive_id,suite,workload,iodepth,numjobs,threads,pass,class,ios,stage,mean_ns,state,provenance";
    assert_eq!(text.lines().next(), Some(header));
    let records: Vec<csv::StringRecord> = reader.records().map(|r| r.expect("a record")).collect();
    assert_eq!(records.len(), 5 * run.points().count(), "five stages a point, none of a file");
    assert!(records.iter().all(|r| &r[12] == "modelled"));
    let at = |r: &&csv::StringRecord| (&r[2], &r[3], &r[4]) == ("rand-read-4k", "8", "4");
    let sum: f64 = records.iter().filter(at).map(|r| r[10].parse::<f64>().expect("a number")).sum();
    let json: Value = serde_json::from_str(&results_json(std::slice::from_ref(&run)).expect("finite")).expect("JSON");
    let steps = json["runs"][0]["steps"].as_array().expect("steps");
    let point = steps
        .iter()
        .flat_map(|s| s["points"].as_array().expect("points"))
        .find(|p| p["at"]["workload"] == "rand-read-4k" && p["at"]["iodepth"] == 8 && p["at"]["numjobs"] == 4);
    let job = &point.expect("the point")["job"];
    let stages = job["classes"][0]["stages"].as_array().expect("stages");
    assert!((stages.iter().filter_map(|s| s["mean_ns"].as_f64()).sum::<f64>() - sum).abs() < 1e-6);
    assert_eq!((&job["classes"][0]["class"], &job["trim"]["ios"]), (&Value::from("mapped read"), &Value::from(0)));
    let write = &steps
        .iter()
        .flat_map(|s| s["points"].as_array().expect("points"))
        .find(|p| p["at"]["workload"] == "rand-write-64k");
    let health = &write.expect("a write")["job"]["health"];
    assert_eq!((&health["wear"]["erases_max"], &health["percentage_used"]), (&Value::from(4), &Value::Null));
}

#[test]
fn cells_with_commas_and_quotes_are_quoted() {
    let mut run = common::measured_quick(1, 1);
    run.steps.truncate(1);
    run.steps[0].points[0].at.drive_id = "a,\"b\"\nc".into();
    let text = results_csv(&[run]).expect("finite figures");
    assert!(text.contains("\n\"a,\"\"b\"\"\nc\",quick,"), "{text}");
}

#[test]
fn a_figure_that_is_no_number_is_refused_everywhere() {
    let mut run = common::measured_quick(1, 1);
    run.steps[1].points[0].metrics[2].value = f64::NAN;
    let runs = [run];
    for result in [results_csv(&runs), results_json(&runs), html(&runs, &[], &[], "t")] {
        let Err(ReportError::NotFinite { workload, step, metric, .. }) = result else { panic!("{result:?}") };
        assert_eq!((workload.as_str(), step, metric), ("seq-read-128k", 1, MetricName::LatMean.word()));
    }
}

#[test]
fn comparisons_with_published_figures_read_back_to_the_same_numbers() {
    let run = common::modelled_review(&[1, 8], &[1, 4]);
    let mut published = common::published();
    published[0].printed = "3,500 MB/s, \"about\"".into();
    let points: Vec<_> = run.points().collect();
    let fidelity = flashlab_analysis::fidelity(&published, &points);
    assert_eq!((fidelity.rows.len(), fidelity.missing.len()), (5, 1));
    let text = fidelity_csv(&fidelity).expect("finite figures");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = "drive_id,suite,workload,iodepth,numjobs,threads,pass,metric,unit,published,result,error,at_ceiling,review,printed";
    assert_eq!(text.lines().next(), Some(header));
    let records: Vec<csv::StringRecord> = reader.records().map(|r| r.expect("a record")).collect();
    assert_eq!(records.len(), fidelity.rows.len());
    for (record, row) in records.iter().zip(&fidelity.rows) {
        assert_eq!(&record[2], row.published.workload);
        let number = |column: usize| record[column].parse::<f64>().expect("a number");
        assert_eq!((number(9), number(10), number(11)), (row.published.value, row.result, row.error()));
        assert_eq!(&record[12], if row.at_ceiling { "yes" } else { "no" });
        assert_eq!((&record[8], &record[14]), (row.published.metric.unit(), row.published.printed.as_str()));
    }
    let peak = records.iter().find(|r| r[3].is_empty()).expect("the top of a sweep has no place");
    assert_eq!((&peak[4], &peak[5], &peak[6]), ("", "", ""));
    let empty = fidelity_csv(&flashlab_analysis::Fidelity::default()).expect("a header");
    assert_eq!(empty.lines().count(), 1);
}

#[test]
fn json_holds_everything_with_null_for_unknown() {
    let run = common::measured_quick(3, 5);
    let json: Value = serde_json::from_str(&results_json(std::slice::from_ref(&run)).expect("finite")).expect("JSON");
    assert_eq!(json["schema"], "flashlab-results");
    let manifest = &json["runs"][0]["manifest"];
    assert_eq!((&manifest["seed"], &manifest["host"]), (&Value::from(42), &Value::from("bench-7")));
    assert_eq!(manifest["target"]["model"], Value::Null);
    assert_eq!(manifest["target"]["capacity_bytes"], 1_u64 << 30);
    assert_eq!(manifest["granted"][0]["refused"][0], "IOPOLL: the file system has no polling");
    let point = &json["runs"][0]["steps"][0]["points"][0];
    assert_eq!(point["at"]["threads"], Value::Null);
    assert!(point["metrics"][2]["interval_95"][0].is_number());
    let job = &point["job"];
    assert_eq!(job["series"].as_array().map(Vec::len), Some(3));
    assert_eq!(job["read"]["lat"], Value::Null, "nothing was read");
    assert_eq!(job["write"]["slat"], Value::Null, "submission was not timed apart");
    let direct = &run.steps[0].points[0].job.as_ref().expect("a job").write.lat;
    let p99 = job["write"]["lat"]["percentiles"].as_array().and_then(|all| all.iter().find(|p| p["percent"] == 99.0));
    assert_eq!(p99.map(|p| p["value_ns"].clone()), direct.percentile(99.0).map(|p| p.value.0.into()));
    let counted: u64 = job["write"]["lat"]["histogram"]["buckets"]
        .as_array()
        .map_or(0, |all| all.iter().filter_map(|bucket| bucket[1].as_u64()).sum());
    assert_eq!(counted, direct.count());
}

#[test]
fn the_manifest_holds_what_the_csv_leaves_out() {
    let json: Value =
        serde_json::from_str(&manifest_json(&[common::measured_quick(1, 1)]).expect("finite")).expect("JSON");
    let run = &json["runs"][0];
    for key in ["tool", "version", "commit", "seed", "started", "host", "kernel", "state_before", "granted", "suite"] {
        assert!(!run[key].is_null(), "{key}");
    }
}

#[test]
fn a_series_is_a_line_a_direction_with_the_latencies_of_its_interval() {
    let run = common::measured_quick(2, 5);
    let (point, job) = run.points().find_map(|p| Some((p, p.job.as_ref()?))).expect("a job");
    let mut csv = SeriesCsv::new().expect("a header");
    // A stall: an interval in which nothing came back.
    let mut intervals = job.series.intervals.clone();
    intervals[1] = Interval { read: Default::default(), write: Default::default(), ..intervals[1].clone() };
    // In two parts, as they are read from a store.
    let (first, rest) = intervals.split_at(2);
    csv.add(7, point, first).expect("lines");
    csv.add(7, point, rest).expect("lines");
    let text = csv.finish().expect("a text");
    let records: Vec<csv::StringRecord> =
        csv::Reader::from_reader(text.as_bytes()).records().map(|r| r.expect("a record")).collect();
    assert_eq!(records.len(), intervals.len(), "one direction only");
    assert_eq!((&records[1][11], &records[1][13], &records[1][17]), ("0", "", ""));
    for (record, interval) in records.iter().zip(&intervals) {
        let at = ["read", "write", "trim"].iter().position(|name| *name == &record[10]).expect("a direction");
        let direction = interval.directions()[at];
        let lat = LatencyHistogram::from_sparse(&direction.lat);
        assert_eq!((&record[0], &record[8]), ("7", interval.start.0.to_string().as_str()));
        assert_eq!((&record[11], &record[12]), (&*direction.ios.to_string(), &*direction.bytes.0.to_string()));
        assert_eq!(record[13].parse::<f64>().ok(), lat.mean_ns());
        assert_eq!(record[15].parse::<u64>().ok(), lat.percentile(99.0).map(|p| p.value.0));
    }
}
