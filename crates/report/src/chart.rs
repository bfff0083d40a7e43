//! A chart as a value, and its form for the script that draws it.
//!
//! Texts in a [`Chart`] are plain; the one place that turns them into what the script reads is
//! [`Chart::to_json`], which cleans and escapes them, because the script takes a subset of HTML in
//! every label.

use crate::text::clean;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Colours that stay apart for colour-blind readers and on paper (after Okabe and Ito, the yellow
/// darkened).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#a8478a", "#c08a00", "#4fb3e0", "#444b52", "#7a3b10"];
/// In place of the number of a colour: what belongs to no drive.
pub(crate) const NEUTRAL: usize = usize::MAX;
/// In place of the number of a colour: seen on any of them.
pub(crate) const DARK: usize = usize::MAX - 1;
/// A shape a colour, so that lines are told apart without any colour.
const SYMBOLS: [&str; 8] =
    ["circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "star", "hexagram"];
/// The same shapes as characters, for the list of drives beside the charts.
const SHAPES: [&str; 8] = ["●", "■", "◆", "▲", "▼", "⬟", "★", "✶"];
/// A smaller ratio of the largest to the smallest value gets a linear axis.
const LOG_SPAN_MIN: f64 = 2.0;
const GRID: &str = "#e3e6ea";
const INK: &str = "#1c2733";
/// The width is that of the page; a legend of many lines takes height of its own.
const HEIGHT_PX: u32 = 380;
/// Lines of a legend that fit into [`HEIGHT_PX`].
const NAMED_MAX: usize = 4;
const HEIGHT_OF_MANY_PX: u32 = 440;
/// A bar of stacked parts, and what is not bars: title, axis, and a legend that takes several rows on a
/// phone.
const BAR_PX: u32 = 26;
const STACKED_PX: u32 = 230;

/// Longest name in a legend, in characters: what fits a chart on a phone. Names of devices and files
/// can be longer; the whole name stands in the tables and where a mark is pointed at.
const NAME_MAX: usize = 40;

/// Lines over two axes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chart {
    /// Stands above the chart on the page.
    pub(crate) title: String,
    /// What to know in order to read it; may be empty.
    pub(crate) caption: String,
    /// Written into the chart itself, so that a picture of it still says what it is.
    pub(crate) tag: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
    /// Shaded, behind the lines.
    pub(crate) bands: Vec<Band>,
    /// Upright dotted lines at these x.
    pub(crate) rules: Vec<f64>,
}

/// An axis; the title names the unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) title: String,
    pub(crate) log: bool,
    pub(crate) from_zero: bool,
    /// Fixed ticks; none lets the script choose.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Values grow downwards, as a list does.
    pub(crate) downwards: bool,
    /// Where it ends, if it is not as far as the values reach.
    pub(crate) to: Option<f64>,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Joined marks.
    Marked,
    /// Joined, without marks.
    Plain,
    /// Joined by dashes, without marks.
    Dashed,
    /// The same without an entry in the legend.
    DashedUnnamed,
    /// Each value holds until the next, as in a distribution; no marks.
    Steps,
    /// Marks alone.
    Dots,
    /// Marks alone, pale: what belongs to a line but does not lie on it.
    Faint,
    /// Hollow marks alone: printed in a review.
    Published,
    /// A dotted line without marks: printed in a review, without a place on the x axis.
    PublishedLevel,
    /// A lying bar from zero to each x.
    Bars,
    /// A part of a lying bar, as long as its x, behind the parts of the lines before.
    Parts,
}

impl Look {
    const fn is_published(self) -> bool {
        matches!(self, Look::Published | Look::PublishedLevel)
    }

    /// Whether the legend has an entry for it; the others go with the line of the same name.
    const fn is_named(self) -> bool {
        !self.is_published() && !matches!(self, Look::Faint | Look::Bars | Look::DashedUnnamed)
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// In the legend; lines of one name are shown and hidden together.
    pub(crate) name: String,
    pub(crate) colour: usize,
    pub(crate) look: Look,
    /// Number of the drive on this page, for showing and hiding it everywhere.
    pub(crate) drive: Option<usize>,
    /// Shade down to the line before this one.
    pub(crate) fill_to_previous: bool,
    pub(crate) marks: Vec<Mark>,
}

/// One point of a line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Exact values with units, in lines.
    pub(crate) hover: String,
}

/// A shaded rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Band {
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
}

impl Axis {
    /// From zero, ticks chosen by the script.
    pub(crate) fn linear(title: impl Into<String>) -> Self {
        Axis { title: title.into(), log: false, from_zero: true, ticks: Vec::new(), downwards: false, to: None }
    }

    /// Logarithmic with ticks at powers of two: outstanding I/Os, threads.
    pub(crate) fn powers_of_two(title: impl Into<String>, values: impl Iterator<Item = u64>) -> Self {
        let most = values.max().unwrap_or(1);
        let ticks = (0..63).map(|n| 1u64 << n).take_while(|v| *v <= most.saturating_mul(2));
        let ticks = ticks.map(|v| (v as f64, crate::text::grouped(v))).collect();
        Axis { title: title.into(), log: true, from_zero: false, ticks, downwards: false, to: None }
    }

    /// Logarithmic with ticks at the powers of ten, and between them where the range is short; linear
    /// where the values are so close together that no such tick might lie among them. The title says
    /// which, beside the unit.
    pub(crate) fn decades(what: &str, unit: &str, values: impl Iterator<Item = f64>) -> Self {
        let above_zero = values.filter(|v| *v > 0.0);
        let (low, high) = above_zero.fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        if high < low * LOG_SPAN_MIN {
            return Axis { from_zero: false, ..Axis::linear(format!("{what} ({unit})")) };
        }
        let steps: &[f64] = match high / low {
            span if span < 10.0 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            span if span < 100.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let ticks = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        let ticks = ticks.map(|v| (v, tick(v))).collect();
        let title = format!("{what} ({unit}, log scale)");
        Axis { title, log: true, from_zero: false, ticks, downwards: false, to: None }
    }

    /// Names one under another, the first on top.
    pub(crate) fn names(title: impl Into<String>, names: impl Iterator<Item = String>) -> Self {
        let ticks = names.enumerate().map(|(i, name)| (i as f64, name)).collect();
        Axis { title: title.into(), log: false, from_zero: false, ticks, downwards: true, to: None }
    }

    fn to_json(&self) -> Value {
        let mut out = json!({
            "title": {"text": plot_text(&self.title), "standoff": 8},
            "type": if self.log { "log" } else { "linear" },
            "gridcolor": GRID, "linecolor": "#8a94a0", "showline": true, "ticks": "outside", "zeroline": false,
            "automargin": true, "separatethousands": true, "exponentformat": "none",
        });
        if self.from_zero {
            out["rangemode"] = json!("tozero");
        }
        if let Some(to) = self.to {
            (out["range"], out["autorange"]) = (json!([0, to]), json!(false));
        }
        if self.downwards {
            out["autorange"] = json!("reversed");
        }
        if !self.ticks.is_empty() {
            out["tickvals"] = self.ticks.iter().map(|(v, _)| json!(v)).collect();
            out["ticktext"] = self.ticks.iter().map(|(_, text)| json!(plot_text(text))).collect();
        }
        out
    }
}

impl Line {
    /// With marks, undashed.
    pub(crate) fn new(name: impl Into<String>, colour: usize, marks: Vec<Mark>) -> Self {
        let (name, look, drive) = (name.into(), Look::Marked, None);
        Line { name, colour, look, drive, fill_to_previous: false, marks }
    }

    /// In another look.
    pub(crate) fn look(self, look: Look) -> Self {
        Line { look, ..self }
    }

    /// Belongs to a drive of this number.
    pub(crate) fn of_drive(self, drive: usize) -> Self {
        Line { drive: Some(drive), ..self }
    }

    fn to_json(&self, texts: &mut Texts) -> Value {
        let colour = match self.colour {
            NEUTRAL => "#8a94a0",
            DARK => INK,
            number => COLOURS[number % COLOURS.len()],
        };
        let symbol = if self.colour == DARK { SYMBOLS[0] } else { SYMBOLS[self.colour % SYMBOLS.len()] };
        let name = plot_text(&shortened(&self.name));
        let column =
            |value: fn(&Mark) -> f64| -> Value { self.marks.iter().map(|m| json!(rounded(value(m)))).collect() };
        let mut out = json!({
            "type": "scatter", "name": name, "legendgroup": name, "showlegend": self.look.is_named(),
            "x": column(|m| m.x), "y": column(|m| m.y),
            "text": self.marks.iter().map(|m| json!(texts.index(&m.hover))).collect::<Value>(),
            "meta": {"drive": self.drive, "published": self.look.is_published()},
        });
        let dash = match self.look {
            Look::Dashed | Look::DashedUnnamed => "dash",
            Look::PublishedLevel => "dot",
            _ => "solid",
        };
        let shape = if self.look == Look::Steps { "hv" } else { "linear" };
        match self.look {
            Look::Bars | Look::Parts => {
                (out["type"], out["orientation"], out["width"]) = (json!("bar"), json!("h"), json!(0.62));
                (out["marker"], out["textposition"]) = (json!({"color": colour}), json!("none"));
            }
            Look::Marked => {
                out["mode"] = json!("lines+markers");
                out["marker"] = json!({"color": colour, "size": 7, "symbol": symbol});
            }
            Look::Plain | Look::Dashed | Look::DashedUnnamed | Look::Steps | Look::PublishedLevel => {
                out["mode"] = json!("lines");
            }
            Look::Dots => {
                out["mode"] = json!("markers");
                out["marker"] = json!({"color": colour, "size": 8, "symbol": symbol});
            }
            Look::Faint => {
                out["mode"] = json!("markers");
                out["marker"] = json!({"color": colour, "size": 5, "symbol": symbol, "opacity": 0.45});
            }
            Look::Published => {
                out["mode"] = json!("markers");
                let line = json!({"color": colour, "width": 2});
                out["marker"] = json!({"color": colour, "size": 12, "symbol": format!("{symbol}-open"), "line": line});
            }
        }
        if matches!(out["mode"].as_str(), Some("lines" | "lines+markers")) {
            out["line"] = json!({"color": colour, "width": 2, "dash": dash, "shape": shape});
        }
        if self.fill_to_previous {
            out["fill"] = json!("tonexty");
            out["fillcolor"] = json!(format!("{colour}2b"));
        }
        out
    }
}

/// The hover texts of all charts of a page, each once: many charts show the same points.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    all: Vec<String>,
    at: HashMap<String, usize>,
}

impl Texts {
    /// The position of `text`, which is added where it is new.
    fn index(&mut self, text: &str) -> usize {
        if let Some(at) = self.at.get(text) {
            return *at;
        }
        self.at.insert(text.to_owned(), self.all.len());
        self.all.push(plot_text(text));
        self.all.len() - 1
    }

    /// As the drawing script reads them.
    pub(crate) fn to_json(&self) -> Value {
        json!(self.all)
    }
}

/// Colour and shape of the drive `rank`, for the list of drives.
pub(crate) fn sign(rank: usize) -> (&'static str, &'static str) {
    (COLOURS[rank % COLOURS.len()], SHAPES[rank % SHAPES.len()])
}

impl Chart {
    /// Lines over two axes and nothing else.
    pub(crate) fn new(title: impl Into<String>, tag: String, x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        Chart { title: title.into(), caption: String::new(), tag, x, y, lines, bands: vec![], rules: vec![] }
    }

    /// With a caption.
    pub(crate) fn caption(self, caption: impl Into<String>) -> Self {
        Chart { caption: caption.into(), ..self }
    }

    /// Height on the page.
    pub(crate) fn height_px(&self) -> u32 {
        if self.is_stacked() {
            return STACKED_PX + BAR_PX * self.y.ticks.len() as u32;
        }
        let named = self.lines.iter().filter(|line| line.look.is_named()).count();
        if named > NAMED_MAX { HEIGHT_OF_MANY_PX } else { HEIGHT_PX }
    }

    fn is_stacked(&self) -> bool {
        self.lines.iter().any(|line| line.look == Look::Parts)
    }

    /// Whether there is more to see than a number in a table: a line from one x to another.
    pub(crate) fn has_a_line(&self) -> bool {
        self.lines.iter().any(|line| line.marks.iter().any(|m| m.x != line.marks[0].x))
    }

    /// What the drawing script takes: data and layout. `id` names the element it is drawn in.
    pub(crate) fn to_json(&self, id: &str, texts: &mut Texts) -> Value {
        let shapes: Vec<Value> = self.bands.iter().map(band_json).chain(self.rules.iter().map(rule_json)).collect();
        let named = self.lines.iter().filter(|line| line.look.is_named()).count();
        let published = self.lines.iter().any(|line| line.look.is_published());
        let mut out = json!({
            "id": id,
            "data": self.lines.iter().map(|line| line.to_json(texts)).collect::<Vec<_>>(),
            // The script adds one entry to the legend for all published figures.
            "published": published,
            "layout": {
                "height": self.height_px(), "autosize": true, "hovermode": "closest",
                "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
                "paper_bgcolor": "#ffffff", "plot_bgcolor": "#ffffff",
                "margin": {"l": 56, "r": 14, "t": 30, "b": 48},
                "hoverlabel": {"align": "left", "bgcolor": "#ffffff", "font": {"color": INK}},
                "showlegend": named > 1 || published,
                "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom"},
                "xaxis": self.x.to_json(), "yaxis": self.y.to_json(),
                "annotations": [{
                    "text": plot_text(&self.tag), "xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left",
                    "yanchor": "bottom", "yshift": 4, "showarrow": false, "font": {"size": 11, "color": "#5a6673"},
                }],
                "shapes": shapes,
            },
        });
        if self.is_stacked() {
            out["layout"]["barmode"] = json!("stack");
        }
        out
    }
}

fn rule_json(x: &f64) -> Value {
    json!({
        "type": "line", "layer": "below", "xref": "x", "yref": "paper", "x0": rounded(*x), "x1": rounded(*x), "y0": 0, "y1": 1,
        "line": {"width": 1, "dash": "dot", "color": "#5a6673"},
    })
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_MAX - 1).chain(['…']).collect()
}

fn band_json(band: &Band) -> Value {
    json!({
        "type": "rect", "layer": "below", "xref": "x", "yref": "y", "line": {"width": 0}, "fillcolor": "#009e7326",
        "x0": rounded(band.x.0), "x1": rounded(band.x.1), "y0": rounded(band.y.0), "y1": rounded(band.y.1),
    })
}

/// Seven significant digits: more than a screen shows, and the same text on every machine.
fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

/// A tick of a decade axis: `0.01`, `1.5`, `50`, `1,000`.
fn tick(value: f64) -> String {
    let value = rounded(value);
    if value >= 1.0 && value.fract() == 0.0 { crate::text::grouped(value as u64) } else { value.to_string() }
}

/// Plain text as a label of the drawing script: control characters out, markup escaped, line breaks
/// in its own form.
fn plot_text(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| clean(line).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
        .collect();
    lines.join("<br>")
}

/// JSON that can stand inside a `script` element: no character of it can end the element or open a
/// comment.
pub(crate) fn script_json(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(name: &str) -> Chart {
        let marks = [1.0, 2.0].map(|x| Mark { x, y: 2.0, hover: format!("{name}\n2 us") }).to_vec();
        let x = Axis::powers_of_two("x (count)", [4].into_iter());
        Chart::new("t", name.into(), x, Axis::linear("y (us)"), vec![Line::new(name, 0, marks)])
    }

    #[test]
    fn labels_cannot_carry_markup_and_json_cannot_leave_its_script() {
        let mut texts = Texts::default();
        let json = chart("</script><!--<a href='x'>&").to_json("c", &mut texts);
        assert_eq!(json["data"][0]["name"], "&lt;/script&gt;&lt;!--&lt;a href='x'&gt;&amp;");
        assert_eq!(texts.to_json()[0], "&lt;/script&gt;&lt;!--&lt;a href='x'&gt;&amp;<br>2 us");
        let text = script_json(&json);
        assert!(!text.contains(['<', '>', '&']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(json), "escaping keeps the value");
    }

    #[test]
    fn long_names_are_shortened_in_the_legend_only() {
        let mut texts = Texts::default();
        let json = chart(&"漢".repeat(60)).to_json("c", &mut texts);
        assert_eq!(json["data"][0]["name"], format!("{}…", "漢".repeat(NAME_MAX - 1)));
        assert_eq!(texts.to_json()[0], format!("{}<br>2 us", "漢".repeat(60)));
    }

    #[test]
    fn hover_texts_are_kept_once() {
        let mut texts = Texts::default();
        let json = chart("a").to_json("c", &mut texts);
        assert_eq!(json["data"][0]["text"], json!([0, 0]));
        chart("a").to_json("d", &mut texts);
        assert_eq!(texts.to_json(), json!(["a<br>2 us"]));
    }

    #[test]
    fn published_figures_are_hollow_and_go_with_the_line_of_their_name() {
        let mut both = chart("a");
        both.lines.push(both.lines[0].clone().look(Look::Published));
        let json = both.to_json("c", &mut Texts::default());
        let (line, published) = (&json["data"][0], &json["data"][1]);
        assert_eq!(line["legendgroup"], published["legendgroup"]);
        assert_eq!((&line["showlegend"], &published["showlegend"]), (&json!(true), &json!(false)));
        assert_eq!(
            (&line["marker"]["symbol"], &published["marker"]["symbol"]),
            (&json!("circle"), &json!("circle-open"))
        );
        assert_eq!(line["marker"]["color"], published["marker"]["color"]);
        assert_eq!((&published["mode"], &json["published"]), (&json!("markers"), &json!(true)));
    }

    #[test]
    fn ticks() {
        let words = |axis: Axis| axis.ticks.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(words(Axis::powers_of_two("x", [1, 6].into_iter())), ["1", "2", "4", "8"]);
        assert_eq!(words(Axis::decades("x", "us", [80.0, 900.0].into_iter()))[..4], ["10", "20", "50", "100"]);
        assert_eq!(
            words(Axis::decades("x", "%", [0.001, 100.0].into_iter())),
            ["0.001", "0.01", "0.1", "1", "10", "100"]
        );
        assert_eq!(words(Axis::decades("x", "ms", [1.1, 3.0].into_iter()))[..3], ["1", "1.5", "2"]);
        let close = Axis::decades("x", "ms", [4.08, 4.13].into_iter());
        assert_eq!((close.log, close.title.as_str()), (false, "x (ms)"), "no tick of a log axis lies there");
        assert!(words(Axis::decades("x", "us", [0.0].into_iter())).is_empty());
    }

    #[test]
    fn a_single_point_is_no_line() {
        assert!(chart("a").has_a_line());
        let mut upright = chart("a");
        upright.lines[0].marks[1].x = 1.0;
        assert!(!upright.has_a_line());
        upright.lines[0].marks.clear();
        assert!(!upright.has_a_line());
    }
}
