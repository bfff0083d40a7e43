//! The data sheets of modelled drives, and the parameters of their models.

use crate::text::{self, clean};
use crate::view::{Rating, Reached, Section, drive_ids, ratings};
use flashlab_spec::DriveProfile;
use maud::{Markup, html};

/// Rated figures with what was reached beside them: a list for one drive, a column a drive for several.
pub(super) fn spec_sheets(profiles: &[DriveProfile], sections: &[Section<'_>]) -> Markup {
    html! {
        @if !profiles.is_empty() {
            section id="sheet" {
                h2 { "Spec sheet" }
                @if let [one] = profiles { (spec_sheet(one, sections)) } @else { (side_by_side(profiles, sections)) }
            }
        }
    }
}

fn spec_sheet(profile: &DriveProfile, sections: &[Section<'_>]) -> Markup {
    let rows: Vec<Rating> = ratings(profile, sections).into_iter().filter(|row| row.rated.is_some()).collect();
    html! {
        h3 { (clean(&format!("{} {}", profile.vendor, profile.model))) " " small { (clean(&profile.id)) } }
        p { (clean(&profile.nand_type)) " flash, " (profile.parameters.capacity.user.value.si()) ". "
            "Profile: " (clean(&profile.status)) "." }
        @if rows.is_empty() {
            p { "The profile carries no data sheet." }
        } @else {
            div.scroll { table.stack {
                thead { tr { th { "" } th { "Rated" } th { "Reached in this report" } } }
                tbody { @for row in &rows { tr {
                    th scope="row" { (row.what) }
                    td data-label="Rated" { (clean(row.rated.as_deref().unwrap_or(text::NONE))) }
                    td data-label="Reached" { (clean(&row.ours.as_ref().map_or_else(|| text::NONE.to_owned(), reached))) }
                } } }
            } }
        }
        @if !profile.rated.source.is_empty() { p.source { "Sheet: " (clean(&profile.rated.source)) } }
    }
}

fn reached(ours: &Reached) -> String {
    format!("{} ({}; {})", ours.figure, ours.origin, ours.place)
}

fn side_by_side(profiles: &[DriveProfile], sections: &[Section<'_>]) -> Markup {
    let drives = drive_ids(sections);
    let rank = |id: &str| drives.iter().find(|(_, known)| *known == id).map(|(rank, _)| *rank);
    let columns: Vec<(&DriveProfile, Option<usize>, Vec<Rating>)> =
        profiles.iter().map(|p| (p, rank(&p.id), ratings(p, sections))).collect();
    let lines = columns.first().map_or(0, |(_, _, ratings)| ratings.len());
    html! {
        p { "Rated figures from the data sheets; beneath them the best figure of this report, whose place and state show when it is pointed at. " (text::NONE) ": the sheet does not say." }
        div.scroll { table.stack.sheet {
            thead { tr {
                th { "" }
                @for (profile, rank, _) in &columns { th data-drive=[rank] { (clean(&profile.id)) } }
            } }
            tbody {
                @for (line, name) in ["Drive", "Capacity", "Flash", "Profile"].iter().enumerate() { tr {
                    th scope="row" { (name) }
                    @for (profile, rank, _) in &columns {
                        td data-drive=[rank] data-label=(clean(&profile.id)) { (clean(&identity(profile)[line])) }
                    }
                } }
                @for line in (0..lines).filter(|n| columns.iter().any(|(_, _, ratings)| ratings[*n].rated.is_some())) { tr {
                    th scope="row" { (columns[0].2[line].what) }
                    @for (profile, rank, ratings) in &columns {
                        td data-drive=[rank] data-label=(clean(&profile.id)) { div { (rated_beside_reached(&ratings[line])) } }
                    }
                } }
            }
        } }
        details {
            summary { "Where the sheets were read" }
            ul { @for (profile, _, _) in &columns {
                @if !profile.rated.source.is_empty() { li { b { (clean(&profile.id)) } ": " (clean(&profile.rated.source)) } }
            } }
        }
    }
}

/// Name, capacity, flash, and how good the profile is.
fn identity(profile: &DriveProfile) -> [String; 4] {
    let capacity = profile.parameters.capacity.user.value.si();
    [format!("{} {}", profile.vendor, profile.model), capacity, profile.nand_type.clone(), profile.status.clone()]
}

fn rated_beside_reached(rating: &Rating) -> Markup {
    html! {
        (clean(rating.rated.as_deref().unwrap_or(text::NONE)))
        @if let Some(ours) = &rating.ours {
            br; small title=(clean(&ours.place)) { (ours.origin) " " (clean(&ours.figure)) ", " (ours.state) }
        }
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
                    @if profiles.len() > 1 {
                        details { summary { (clean(&profile.id)) ": " (clean(&profile.status)) } (parameter_table(profile)) }
                    } @else {
                        h3 { (clean(&profile.id)) }
                        (parameter_table(profile))
                    }
                }
            }
        }
    }
}

fn parameter_table(profile: &DriveProfile) -> Markup {
    html! {
        div.scroll { table.stack {
            thead { tr { @for name in ["Parameter", "Value", "Source", "Acts on", "Why"] { th { (name) } } } }
            tbody { @for row in profile.parameter_rows() { tr {
                th scope="row" { code { (row.key) } }
                td.number data-label="Value" { (row.value) }
                td data-label="Source" { (row.source.word()) }
                td data-label="Acts on" { (row.acts) }
                td.prose data-label="Why" { (clean(&row.note)) }
            } } }
        } }
    }
}
