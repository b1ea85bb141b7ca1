//! Every feature, as SVG text and as pixels.

use std::io::Cursor;

use plot::{Axis, Colour, Dash, DrawError, Figure, Panel, Series};

const RED: Colour = Colour::hex(0x00ff_0000);
const BLUE: Colour = Colour::hex(0x0000_00ff);

/// A PNG file, decoded.
struct Pixels {
    width: usize,
    height: usize,
    rgba: Vec<u8>,
}

impl Pixels {
    fn of(figure: &Figure) -> Self {
        let file = Cursor::new(figure.to_png().expect("a figure"));
        let mut reader = png::Decoder::new(file).read_info().expect("a header");
        let mut rgba = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut rgba).expect("pixels");
        assert_eq!(info.color_type, png::ColorType::Rgba);
        Self {
            width: info.width as usize,
            height: info.height as usize,
            rgba,
        }
    }

    fn at(&self, column: usize, row: usize) -> [u8; 3] {
        let at = 4 * (row * self.width + column);
        [self.rgba[at], self.rgba[at + 1], self.rgba[at + 2]]
    }

    /// First and last column, first and last row of the pixels with this colour.
    fn extent(&self, colour: [u8; 3]) -> Option<[usize; 4]> {
        let mut extent: Option<[usize; 4]> = None;
        for row in 0..self.height {
            for column in (0..self.width).filter(|column| self.at(*column, row) == colour) {
                let [left, right, top, bottom] = extent.unwrap_or([column, column, row, row]);
                extent = Some([
                    left.min(column),
                    right.max(column),
                    top.min(row),
                    bottom.max(row),
                ]);
            }
        }
        extent
    }

    /// How many pixels have this colour.
    fn count(&self, colour: [u8; 3]) -> usize {
        let pixels = self.rgba.chunks(4);
        pixels.filter(|pixel| pixel[..3] == colour).count()
    }
}

/// 100 x 100 pixels from 0 to 10, or from 1 to 100 on the logarithmic vertical axis.
fn square(y: Axis, series: Series) -> Figure {
    let panel = Panel::new(Axis::linear("").range(0.0, 10.0), y).with(series);
    Figure::new(1).panel_size(100.0, 100.0).with(panel)
}

fn linear(series: Series) -> Figure {
    square(Axis::linear("").range(0.0, 10.0), series)
}

fn log(series: Series) -> Figure {
    square(Axis::log("").range(1.0, 100.0), series)
}

/// The upper left corner of the frame.
fn corner(figure: &Figure) -> [f64; 2] {
    let svg = figure.to_svg();
    let frame = svg.lines().find(|line| line.contains("#666666"));
    let points = frame.and_then(|line| line.split('"').nth(1));
    let first = points.and_then(|points| points.split(' ').next());
    let (x, y) = first
        .and_then(|point| point.split_once(','))
        .expect("a frame");
    [x, y].map(|number| number.parse().expect("a number"))
}

/// Where something is red: left, right, top, bottom, counted from the frame.
#[track_caller]
fn check_extent(figure: &Figure, expected: [f64; 4]) {
    let extent = Pixels::of(figure).extent([255, 0, 0]);
    let [left, top] = corner(figure);
    let found = extent.expect("something is red").map(length);
    let found = [
        found[0] - left,
        found[1] - left,
        found[2] - top,
        found[3] - top,
    ];
    for (side, expected) in found.iter().zip(expected) {
        assert!((side - expected).abs() <= 1.5, "{found:?}, {expected}");
    }
}

/// Two pixels are one of the drawing.
fn length(pixels: usize) -> f64 {
    f64::from(u32::try_from(pixels).expect("a small number")) / 2.0
}

#[test]
fn every_kind_of_mark_is_drawn_in_both_formats() {
    let points = vec![[1.0, 0.0], [10.0, 1.0], [100.0, 0.5]];
    let band = points.iter().map(|[x, y]| [*x, y - 1.0, y + 1.0]).collect();
    let panel = || Panel::new(Axis::log("x"), Axis::linear("y < z")).title("panel");
    let dashed = Series::line(points.clone()).dash(Dash::DashDot);
    let figure = Figure::new(2)
        .title("all \"marks\"")
        .with(
            panel()
                .with(Series::band(band).colour(BLUE.alpha(0.3)).label("band"))
                .with(dashed.label("line")),
        )
        .with(panel().with(Series::steps(points.clone()).label("steps")))
        .with(panel().with(Series::bars(points.clone()).label("bars")))
        .with(panel().with(Series::stems(points.clone()).label("stems")))
        .with(panel().with(Series::dots(points).label("line")))
        .with(Panel::image(1, 1, &[0.5]));
    let svg = figure.to_svg();
    let parts = [
        "<polygon",
        "<polyline",
        "<circle",
        "<image",
        "stroke-dasharray",
        "y &lt; z",
        "aria-label=\"all &quot;marks&quot;\"",
    ];
    for part in parts {
        assert!(svg.contains(part), "{part}");
    }
    assert_eq!(
        svg.matches(">line<").count(),
        1,
        "one entry for equal labels"
    );
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    assert!(figure.to_png().unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn an_svg_fits_into_any_page() {
    let figure = linear(Series::line(vec![[-5.0, -5.0], [50.0, 50.0]]));
    let svg = figure.to_svg();
    assert_eq!(svg, figure.clone().to_svg(), "always the same");
    assert!(!svg.contains(" id=") && !svg.contains("url("), "no ids");
    assert!(svg.contains("viewBox=\"0 0 ") && svg.contains("max-width:100%;height:auto"));
    assert!(svg.contains("sans-serif\"") && !svg.contains("@font-face"));
    let ground = "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>";
    assert_eq!(svg.lines().nth(1), Some(ground));
}

#[test]
fn lines_end_at_the_frame() {
    let beyond = vec![[-90.0, 5.0], [90.0, 5.0]];
    check_extent(
        &linear(Series::line(beyond).colour(RED).width(3.0)),
        [0.0, 100.0, 49.0, 51.0],
    );
    let upwards = vec![[2.0, 5.0], [2.0, f64::INFINITY]];
    check_extent(
        &linear(Series::line(upwards).colour(RED).width(3.0)),
        [19.0, 21.0, 0.0, 50.0],
    );
}

#[test]
fn no_number_interrupts_a_line() {
    let points = vec![
        [0.0, 5.0],
        [2.0, 5.0],
        [4.0, f64::NAN],
        [6.0, 5.0],
        [f64::NAN, 5.0],
        [9.0, 5.0],
        [10.0, 5.0],
    ];
    let svg = linear(Series::line(points).colour(RED)).to_svg();
    let red = |shape: &str| {
        svg.lines()
            .filter(|line| line.starts_with(shape) && line.contains("#ff0000"))
            .count()
    };
    assert_eq!(red("<polyline"), 2);
    assert_eq!(red("<circle"), 1, "a point without neighbours");
    assert!(!svg.contains("NaN"));
}

#[test]
fn bands_are_cut_at_the_axis() {
    let band = |lower, upper| {
        let points = vec![[2.0, lower, upper], [8.0, lower, upper]];
        Series::band(points).colour(RED)
    };
    check_extent(&log(band(0.0, 10.0)), [20.0, 80.0, 50.0, 100.0]);
    check_extent(&log(band(-1.0, 10.0)), [20.0, 80.0, 50.0, 100.0]);
    check_extent(&log(band(10.0, f64::INFINITY)), [20.0, 80.0, 0.0, 50.0]);
    check_extent(&log(band(0.0, f64::INFINITY)), [20.0, 80.0, 0.0, 100.0]);
    check_extent(&linear(band(-50.0, 5.0)), [20.0, 80.0, 50.0, 100.0]);
    let nothing = Pixels::of(&log(band(f64::NAN, 10.0)));
    assert_eq!(nothing.count([255, 0, 0]), 0);
    let outside = Pixels::of(&log(band(0.1, 0.5)));
    assert_eq!(outside.count([255, 0, 0]), 0);
}

#[test]
fn bars_are_centred_and_stand_on_zero() {
    let bars = |points| Series::bars(points).colour(RED);
    check_extent(
        &linear(bars(vec![[5.0, 4.0]]).width(2.0)),
        [40.0, 60.0, 60.0, 100.0],
    );
    check_extent(
        &log(bars(vec![[5.0, 10.0]]).width(2.0)),
        [40.0, 60.0, 50.0, 100.0],
    );
    // Three bars with their gaps, and nothing where there is no number.
    let three = vec![[2.0, 10.0], [4.0, 10.0], [6.0, f64::NAN], [8.0, 10.0]];
    let pixels = Pixels::of(&linear(bars(three)));
    let share = length(pixels.count([255, 0, 0])) / 2e4;
    assert!((share - 3.0 * 0.16).abs() < 0.02, "{share}");
}

#[test]
fn stems_have_a_dot_at_their_end() {
    let stem = Series::stems(vec![[5.0, 6.0], [9.0, f64::NAN]]).colour(RED);
    let figure = linear(stem.width(2.0));
    check_extent(&figure, [46.5, 53.5, 36.5, 100.0]);
    let svg = figure.to_svg();
    assert_eq!(svg.matches("<circle").count(), 1);
}

#[test]
fn a_second_axis_has_its_own_scale_and_colour() {
    let panel = |series| {
        Panel::new(
            Axis::linear("").range(0.0, 10.0),
            Axis::linear("").range(0.0, 10.0),
        )
        .with(series)
    };
    let series = || Series::dots(vec![[5.0, 100.0]]).colour(RED).on_right();
    let right = Axis::log("radius").range(1.0, 10_000.0).colour(BLUE);
    let figure = Figure::new(1)
        .panel_size(100.0, 100.0)
        .with(panel(series()).right(right));
    let svg = figure.to_svg();
    let label = svg.lines().find(|line| line.contains(">radius<")).unwrap();
    assert!(label.contains("#0000ff") && label.contains("rotate"));
    assert!(svg.contains(">10000<"));
    assert_eq!(svg.matches("#ff0000").count(), 1);
    let pixels = Pixels::of(&figure);
    let [_, _, top, bottom] = pixels.extent([255, 0, 0]).unwrap();
    assert!(
        (top + bottom).abs_diff(4 * (16 + 50)) <= 2,
        "{top} {bottom}"
    );
    let letters = pixels.extent([0, 0, 255]).unwrap();
    assert!(letters[1] < pixels.width - 2, "the label is not cut");
    // Without a right axis it belongs to the left one, where it is out of range.
    let alone = Figure::new(1).with(panel(series()));
    assert!(!alone.to_svg().contains("#ff0000"));
}

#[test]
fn pictures_keep_their_pixels_and_their_shape() {
    let grey = [0.0, 1.0, 0.2, 0.6, 0.4, 0.8];
    let figure = Figure::new(1)
        .panel_size(120.0, 60.0)
        .with(Panel::image(2, 3, &grey).title("title").caption("caption"));
    let svg = figure.to_svg();
    // 40 x 60, in the middle of 120 x 60.
    assert!(svg.contains("<image x=\"52.00\" y=\"36.00\" width=\"40.00\" height=\"60.00\""));
    assert!(svg.contains("href=\"data:image/png;base64,iVBORw0KGgo"));
    assert!(svg.contains("image-rendering:pixelated"));
    assert!(svg.contains(">title<") && svg.contains(">caption<"));
    let pixels = Pixels::of(&figure);
    for (index, expected) in [0, 255, 51, 153, 102, 204].into_iter().enumerate() {
        let (column, row) = (104 + 40 * (index % 2), 72 + 40 * (index / 2));
        for corner in [[2, 2], [37, 2], [2, 37], [37, 37], [20, 20]] {
            let found = pixels.at(column + corner[0], row + corner[1]);
            assert_eq!(found, [expected; 3], "pixel {index} at {corner:?}");
        }
    }
}

#[test]
#[should_panic(expected = "a picture has no series")]
fn pictures_have_no_series() {
    let _ = Panel::image(1, 1, &[0.0]).with(Series::line(Vec::new()));
}

#[test]
fn nothing_reaches_the_border() {
    let line = vec![[0.0, 0.0], [2_000_000.0, 3e9]];
    let axes = Panel::new(
        Axis::linear("work"),
        Axis::linear("a label that is far too long"),
    )
    .right(Axis::log("the same for the axis on the right"))
    .title("a title which is longer than the panel is wide")
    .caption("a caption which is longer than the panel is wide")
    .with(Series::line(line).label("a label that is longer than the figure is wide"));
    let figure = Figure::new(1)
        .title("a title that is longer than the figure is wide")
        .panel_size(120.0, 80.0)
        .with(axes);
    let pixels = Pixels::of(&figure);
    let white = [255; 3];
    let is_white = |column, row| pixels.at(column, row) == white;
    assert!((0..pixels.width).all(|x| is_white(x, 1) && is_white(x, pixels.height - 2)));
    assert!((0..pixels.height).all(|y| is_white(1, y) && is_white(pixels.width - 2, y)));
}

#[test]
fn empty_figures_are_drawn() {
    assert!(Figure::new(3).to_png().is_ok());
    let panel = Panel::new(Axis::log("x"), Axis::linear("y")).right(Axis::log("z"));
    let panel = panel
        .with(Series::band(Vec::new()))
        .with(Series::bars(Vec::new()));
    assert!(!Figure::new(3).with(panel).to_svg().contains("NaN"));
}

#[test]
fn a_figure_may_be_too_large() {
    let panel = Panel::new(Axis::linear("x"), Axis::linear("y"));
    let figure = Figure::new(1).panel_size(1e6, 1e6).with(panel);
    let error = figure.to_png().unwrap_err();
    assert!(matches!(error, DrawError::TooLarge { width, .. } if width > 1_000_000));
    assert!(error.to_string().contains("too large"));
}

#[test]
fn squares_are_filled_to_their_corners() {
    let square = Series::squares(vec![[5.0, 5.0]]).colour(RED).width(10.0);
    let dot = Series::dots(vec![[5.0, 5.0]]).colour(RED).width(10.0);
    let count = |series| Pixels::of(&linear(series)).count([255, 0, 0]);
    let (square, dot) = (count(square), count(dot));
    // 10 x 10, at two pixels for each; of a circle pi/4 of that.
    assert!((361..=400).contains(&square), "{square}");
    assert!(dot < square * 9 / 10, "{dot}");
}
