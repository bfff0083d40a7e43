//! Whole outputs against files, byte for byte. `FLASHLAB_GOLDEN=write cargo test -p flashlab-report`
//! renews the files; read the difference before it is committed.

mod common;

use flashlab_report::{html, manifest_json, results_csv, terminal_table};
use std::path::PathBuf;

fn check(name: &str, got: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var("FLASHLAB_GOLDEN").is_ok_and(|v| v == "write") {
        std::fs::write(&path, got).expect("the golden file can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = expected.lines().zip(got.lines()).position(|(e, g)| e != g);
    let line = differs.unwrap_or_else(|| expected.lines().count().min(got.lines().count())) + 1;
    assert!(
        expected == got,
        "{name} differs from line {line}; if that is meant, run with FLASHLAB_GOLDEN=write and read the difference"
    );
}

fn runs() -> [flashlab_analysis::RunRecord; 2] {
    [common::modelled_review(&[1, 8], &[1, 4]), common::measured_quick(4, 9)]
}

/// The page without the chart library, which is megabytes of another project, and with line breaks
/// between elements so that a difference can be read.
fn body(page: &str) -> String {
    let marker = "<script type=\"text/plain\" id=\"chart-library\">";
    let start = page.find(marker).expect("the library is inside") + marker.len();
    let end = start + page[start..].find("</script>").expect("it ends");
    format!("{}{}", &page[..start], &page[end..]).replace("><", ">\n<").replace("},{", "},\n{") + "\n"
}

#[test]
fn results() {
    check("results.csv", &results_csv(&runs()).expect("finite figures"));
}

#[test]
fn manifest() {
    check("manifest.json", &manifest_json(&runs()).expect("finite figures"));
}

#[test]
fn page() {
    check(
        "report.html",
        &body(&html(&runs(), &[common::profile()], &common::published(), "Golden report").expect("finite figures")),
    );
}

#[test]
fn terminal() {
    let runs = runs();
    let text: Vec<String> = [72, 140].iter().map(|width| terminal_table(&runs, &[], *width, false)).collect();
    check("terminal.txt", &text.join("\n----\n\n"));
}
