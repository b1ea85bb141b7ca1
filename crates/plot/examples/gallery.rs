//! A gallery of everything that the crate can draw. `cargo run -p bilevel-plot --example gallery --
//! DIRECTORY` writes it as an HTML page and as PNG files.

use std::error::Error;
use std::f64::consts::PI;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use plot::{Axis, Colour, Dash, Figure, NumberStyle, Panel, Series};

const BLUE: Colour = Colour::hex(0x0000_72b2);
const RED: Colour = Colour::hex(0x00c0_182b);
const GREEN: Colour = Colour::hex(0x0000_9e73);

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let directory = Path::new(&directory);
    fs::create_dir_all(directory)?;
    let figures = [
        ("run", run()),
        ("bands", bands()),
        ("bars", bars()),
        ("pictures", pictures()),
        ("narrow", narrow()),
    ];
    let mut page = "<!doctype html><meta charset=\"utf-8\"><title>Gallery</title>\n\
                    <style>body { background: #222; color: #eee; max-width: 60em; margin: auto; }</style>\n"
        .to_owned();
    for (name, figure) in figures {
        write!(page, "<h2>{name}</h2>\n{}", figure.to_svg())?;
        fs::write(directory.join(name).with_extension("png"), figure.to_png()?)?;
    }
    fs::write(directory.join("gallery.html"), page)?;
    Ok(())
}

fn points(count: u32, f: impl Fn(f64) -> f64) -> Vec<[f64; 2]> {
    let at = (0..count).map(f64::from);
    at.map(|k| [k, f(k)]).collect()
}

/// Two axes, linear and logarithmic on the right.
fn run() -> Figure {
    let objective = points(30, |k| 0.2 + 3.0 * 0.8_f64.powf(k));
    let interval = objective.iter().map(|&[k, f]| {
        let error = 0.5 * 0.75_f64.powf(k);
        [k, f - error, f + error]
    });
    let work = points(30, |k| 1.6e6 * (k / 29.0).powi(3));
    let left = Panel::new(
        Axis::linear("iteration"),
        Axis::linear("objective").colour(BLUE),
    )
    .title("objective and work")
    .caption("The band certainly contains the objective.")
    .right(Axis::linear("gradients").colour(RED))
    .with(
        Series::band(interval.collect())
            .colour(BLUE.alpha(0.25))
            .label("interval"),
    )
    .with(Series::line(objective).colour(BLUE).label("objective"))
    .with(
        Series::steps(work)
            .colour(RED)
            .dash(Dash::Short)
            .label("work")
            .on_right(),
    );
    let radius = points(30, |k| 0.6_f64.powf(k));
    let ratio = points(30, |k| (k / 4.0).sin());
    let right = Panel::new(Axis::linear("iteration"), Axis::linear("ratio"))
        .title("ratio and radius")
        .right(Axis::log("radius").colour(GREEN))
        .with(Series::dots(ratio).colour(BLUE).label("ratio"))
        .with(
            Series::line(radius)
                .colour(GREEN)
                .label("radius")
                .on_right(),
        );
    Figure::new(2).title("A run").with(left).with(right)
}

/// Marks that are clipped, and values that are missing.
fn bands() -> Figure {
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    let band = vec![
        [0.0, 0.0, 10.0],
        [1.0, 0.0, 5.0],
        [2.0, 0.3, 3.0],
        [3.0, 0.1, 1.5],
        [4.0, 0.05, infinity],
        [5.0, 0.02, infinity],
        [6.0, 0.01, 0.8],
        [7.0, nan, nan],
        [8.0, 0.01, 0.5],
        [9.0, -1.0, 0.4],
    ];
    let line = vec![
        [0.0, 2.0],
        [1.0, 1.0],
        [2.0, nan],
        [3.0, 0.5],
        [4.0, nan],
        [5.0, 0.2],
        [6.0, 0.1],
        [7.0, 0.0],
        [8.0, 0.05],
        [9.0, infinity],
    ];
    let panel = |y| {
        Panel::new(Axis::linear("x"), y)
            .with(
                Series::band(band.clone())
                    .colour(BLUE.alpha(0.3))
                    .label("band"),
            )
            .with(Series::line(line.clone()).colour(RED).label("line"))
    };
    Figure::new(2)
        .title("Zero, infinity, and no number at all")
        .with(panel(Axis::log("y")).title("0 and infinity on a logarithmic axis"))
        .with(panel(Axis::linear("y").range(0.0, 2.0)).title("more than the axis shows"))
}

fn bars() -> Figure {
    let heights = points(8, |k| 3.0 * (-k / 3.0).exp());
    let signed = points(16, |k| (k * PI / 8.0).cos());
    let sampled = points(64, |k| {
        let distance = (k - 32.0).abs();
        if distance < 6.0 {
            1.0
        } else if k % 7.0 < 1.0 {
            0.4
        } else {
            0.0
        }
    });
    Figure::new(2)
        .with(
            Panel::new(Axis::linear("image"), Axis::linear("iterations"))
                .title("bars")
                .with(Series::bars(heights.clone()).colour(BLUE).label("bars")),
        )
        .with(
            Panel::new(Axis::linear("image"), Axis::log("iterations"))
                .title("on a logarithmic axis, narrow")
                .with(Series::bars(heights).width(0.4).colour(BLUE).label("bars")),
        )
        .with(
            Panel::new(Axis::linear("k"), Axis::linear("value"))
                .title("with a sign")
                .with(Series::bars(signed).colour(GREEN).label("cosine")),
        )
        .with(
            Panel::new(Axis::linear("frequency"), Axis::linear("weight"))
                .title("a sampling pattern")
                .with(Series::stems(sampled).colour(RED).label("stems")),
        )
}

fn pictures() -> Figure {
    let disc = |width: u32, height: u32, sharpness: f64| -> Vec<f64> {
        let middle = [f64::from(width) / 2.0, f64::from(height) / 2.0];
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
        let distance = |[x, y]: [u32; 2]| {
            (f64::from(x) + 0.5 - middle[0]).hypot(f64::from(y) + 0.5 - middle[1])
        };
        let radius = 0.4 * f64::from(width.min(height));
        pixels
            .map(|pixel| 0.5 + sharpness * (radius - distance(pixel)))
            .collect()
    };
    Figure::new(4)
        .title("Pictures")
        .panel_size(150.0, 150.0)
        .with(
            Panel::image(16, 16, &disc(16, 16, 0.5))
                .title("data")
                .caption("16 x 16 pixels, PSNR 12.34 dB, SSIM 0.56"),
        )
        .with(
            Panel::image(64, 64, &disc(64, 64, 0.02))
                .title("a reconstruction with a long title")
                .caption("PSNR 25.03 dB"),
        )
        .with(
            Panel::image(30, 60, &disc(30, 60, 1.0))
                .title("upright")
                .caption("30 x 60"),
        )
        .with(
            Panel::image(60, 30, &disc(60, 30, 1.0))
                .title("lying")
                .caption("60 x 30"),
        )
}

/// Long texts and large numbers in small panels.
fn narrow() -> Figure {
    let line = points(40, |k| 5e7 + 1e6 * k);
    let work = points(40, |k| 40_000.0 * k);
    Figure::new(1)
        .title("A title that is longer than the only panel of its figure is wide")
        .panel_size(220.0, 120.0)
        .with(
            Panel::new(
                Axis::linear("work").numbers(NumberStyle::Plain),
                Axis::linear("an axis with a label that is too long"),
            )
            .with(
                Series::line(work.iter().zip(line).map(|(w, l)| [w[1], l[1]]).collect())
                    .colour(BLUE)
                    .label("a label in the legend which is longer than the figure is wide"),
            ),
        )
}
