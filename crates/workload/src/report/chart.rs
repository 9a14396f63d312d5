//! Line charts as inline SVG, so that a report needs no script and no other file.

use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 30.0;
/// Approximate number of marks of an axis.
const MARKS: f64 = 5.0;

/// A line through points of (seconds, value), with a gap where there is no value.
pub(super) struct Line {
    name: String,
    points: Vec<(f64, Option<f64>)>,
    dashed: bool,
}

/// A chart with a title, a unit and lines.
pub(super) struct Chart {
    title: String,
    unit: &'static str,
    lines: Vec<Line>,
}

impl Line {
    /// A line with a value every `every` seconds.
    pub(super) fn over_time(name: impl Into<String>, every: usize, values: &[f64]) -> Self {
        Self::with_gaps(name, every, values.iter().copied().map(Some))
    }

    /// A line with gaps.
    pub(super) fn with_gaps(
        name: impl Into<String>,
        every: usize,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Self {
        let points = values.into_iter().enumerate().map(|(index, value)| ((index * every) as f64, value)).collect();
        Self { name: name.into(), points, dashed: false }
    }

    /// A line through these points.
    pub(super) fn through(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(at, value)| (at, Some(value))).collect();
        Self { name: name.into(), points, dashed: false }
    }

    /// A dashed horizontal line.
    pub(super) fn level(name: impl Into<String>, until: f64, value: f64) -> Self {
        Self { name: name.into(), points: vec![(0.0, Some(value)), (until, Some(value))], dashed: true }
    }
}

impl Chart {
    /// A chart of these lines.
    pub(super) fn new(title: impl Into<String>, unit: &'static str, lines: Vec<Line>) -> Self {
        Self { title: title.into(), unit, lines }
    }

    /// The chart as an HTML figure; empty without data.
    pub(super) fn draw(&self) -> String {
        let values = || self.lines.iter().flat_map(|line| &line.points);
        let until = values().map(|(at, _)| *at).fold(0.0, f64::max);
        let max = values().filter_map(|(_, value)| *value).fold(0.0, f64::max);
        if until <= 0.0 || max <= 0.0 {
            return String::new();
        }
        let scale = Scale { until, top: ceiling(max) };
        let mut svg = format!(
            "<figure><figcaption>{} <span class=\"unit\">{}</span></figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escape(&self.title),
            self.unit,
            escape(&format!("{}: {}", self.title, self.description())),
        );
        scale.axes(&mut svg);
        for (index, line) in self.lines.iter().enumerate() {
            let dashes = if line.dashed { " dashed" } else { "" };
            let _ =
                write!(svg, "<path class=\"line c{}{dashes}\" d=\"{}\"/>", index % COLORS, scale.path(&line.points));
        }
        svg += "</svg><p class=\"legend\">";
        for (index, line) in self.lines.iter().enumerate() {
            let dashes = if line.dashed { " dashed" } else { "" };
            let _ = write!(svg, "<span class=\"key c{}{dashes}\">{}</span>", index % COLORS, escape(&line.name));
        }
        svg + "</p></figure>\n"
    }

    /// The text alternative: the maximum of every line.
    fn description(&self) -> String {
        let highest = |line: &Line| {
            let max = line.points.iter().filter_map(|(_, value)| *value).fold(0.0, f64::max);
            format!("{} maximum {}", line.name, super::number(max))
        };
        self.lines.iter().map(highest).collect::<Vec<_>>().join(", ")
    }
}

/// Number of line colors.
const COLORS: usize = 6;

struct Scale {
    until: f64,
    top: f64,
}

impl Scale {
    fn x(&self, at: f64) -> f64 {
        LEFT + at / self.until * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM)
    }

    fn axes(&self, svg: &mut String) {
        let step = step_of(self.top / MARKS);
        for mark in 0..=(self.top / step).round() as u32 {
            let value = f64::from(mark) * step;
            let y = self.y(value);
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                y + 4.0,
                short(value),
            );
        }
        let step = time_step(self.until / (MARKS + 3.0));
        for mark in 0..=(self.until / step) as u32 {
            let at = f64::from(mark) * step;
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                self.x(at),
                HEIGHT - 8.0,
                time(at),
            );
        }
    }

    fn path(&self, points: &[(f64, Option<f64>)]) -> String {
        let (mut path, mut pen) = (String::new(), false);
        for (at, value) in points {
            let Some(value) = value else {
                pen = false;
                continue;
            };
            let command = if pen { 'L' } else { 'M' };
            let _ = write!(path, "{command}{:.1} {:.1}", self.x(*at), self.y(*value));
            pen = true;
        }
        path
    }
}

/// The next round number (1, 2, 5, 10, ..).
fn step_of(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|step| *step >= least * 0.999).unwrap_or(least)
}

fn ceiling(max: f64) -> f64 {
    let step = step_of(max / MARKS);
    (max / step).ceil() * step
}

fn time_step(least: f64) -> f64 {
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14_400.0];
    steps.into_iter().find(|step| *step >= least).unwrap_or_else(|| (least / 86_400.0).ceil() * 86_400.0)
}

fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 7200.0 => format!("{} h", super::number(seconds / 3600.0)),
        seconds if seconds >= 120.0 => format!("{} min", super::number(seconds / 60.0)),
        seconds => format!("{} s", super::number(seconds)),
    }
}

fn short(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{} M", super::number(value / 1e6)),
        value if value >= 1e4 => format!("{} k", super::number(value / 1e3)),
        value => super::number(value),
    }
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (max, top) in [(7.0, 8.0), (93.0, 100.0), (1001.0, 1200.0), (0.3, 0.3)] {
            assert!((ceiling(max) - top).abs() < 1e-9, "{max}");
        }
        assert!((step_of(0.06) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn gaps_break_lines_and_names_are_escaped() {
        let line = Line::with_gaps("<b>", 1, [Some(1.0), Some(2.0), None, Some(1.0)]);
        let drawn = Chart::new("a & b", "s", vec![line]).draw();
        let (_, path) = drawn.split_once("class=\"line c0\" d=\"").unwrap();
        let path = path.split('"').next().unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1), "{path}");
        assert!(drawn.contains("&lt;b&gt;") && drawn.contains("a &amp; b") && !drawn.contains("<b>"));
        assert_eq!(Chart::new("nothing", "s", vec![Line::over_time("x", 1, &[0.0])]).draw(), "");
    }
}
