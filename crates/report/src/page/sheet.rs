//! The data sheets of modelled drives, and the parameters of their models.

use crate::text::{self, clean};
use crate::view::{Section, ratings};
use flashlab_spec::DriveProfile;
use maud::{Markup, html};

/// Rated figures with what was reached beside them.
pub(super) fn spec_sheets(profiles: &[DriveProfile], sections: &[Section<'_>]) -> Markup {
    html! {
        @if !profiles.is_empty() {
            section id="sheet" {
                h2 { "Spec sheet" }
                @for profile in profiles { (spec_sheet(profile, sections)) }
            }
        }
    }
}

fn spec_sheet(profile: &DriveProfile, sections: &[Section<'_>]) -> Markup {
    let rows = ratings(profile, sections);
    html! {
        h3 { (clean(&format!("{} {}", profile.vendor, profile.model))) " " small { (clean(&profile.id)) } }
        p { (clean(&profile.nand_type)) " flash, " (profile.parameters.capacity.user.value.si()) ". "
            "Profile: " (clean(&profile.status)) "." }
        @if rows.is_empty() {
            p { "The profile carries no data sheet." }
        } @else {
            div.scroll { table {
                thead { tr { th { "" } th { "Rated" } th { "Reached in this report" } } }
                tbody { @for row in &rows { tr {
                    th scope="row" { (clean(&row.what)) }
                    td { (clean(&row.rated)) }
                    td { (clean(row.ours.as_deref().unwrap_or(text::NONE))) }
                } } }
            } }
        }
        @if !profile.rated.source.is_empty() { p.source { "Sheet: " (clean(&profile.rated.source)) } }
    }
}

/// Every model parameter with its source.
pub(super) fn parameters(profiles: &[DriveProfile]) -> Markup {
    html! {
        @if !profiles.is_empty() {
            section id="parameters" {
                h2 { "Model parameters" }
                p {
                    "A profile holds times, counts, sizes and rates, never a curve of results. “spec” is the data "
                    "sheet, “published” a figure of a review, “inferred” follows by the argument given, “fitted” was "
                    "fitted to results, “assumed” is plausible for the class of drive and no more."
                }
                @for profile in profiles {
                    h3 { (clean(&profile.id)) }
                    div.scroll { table {
                        thead { tr { @for name in ["Parameter", "Value", "Source", "Acts on", "Why"] { th { (name) } } } }
                        tbody { @for row in profile.parameter_rows() { tr {
                            th scope="row" { code { (row.key) } }
                            td.number { (row.value) }
                            td { (row.source.word()) }
                            td { (row.acts) }
                            td.prose { (clean(&row.note)) }
                        } } }
                    } }
                }
            }
        }
    }
}
