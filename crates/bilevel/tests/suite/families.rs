//! A small problem of every family.

use std::sync::Arc;

use bilevel::{
    Choice, ColourFamily, FourierWeights, LowerLevel, Pair, TvChoices, TvDeblurring, TvDenoising,
    TvInpainting,
};
use imaging::{
    BlurBoundary, Fourier, Grid, Kernel, KernelShape, LinearOperator, Mask, Seed, noise, phantom,
};

/// Something to do with every family.
pub(crate) trait Visitor {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>);
}

pub(crate) fn for_each_family(visitor: &impl Visitor) {
    let choices = TvChoices::default();
    visitor.visit("signals", TvDenoising::default(), signals());
    visitor.visit("pictures", TvDenoising::default(), pictures(|x, _| x));
    visitor.visit("volumes", TvDenoising::default(), volumes());
    let TvChoices { alpha, nu, xi } = choices;
    visitor.visit("colour", ColourFamily::tv([alpha; 2], nu, xi), colours());

    for boundary in [BlurBoundary::Unknown, BlurBoundary::Periodic] {
        let kernel = Kernel::new(vec![0.25, 0.5, 0.25], Grid::image(1, 3)).expect("a kernel");
        let blur = TvDeblurring::new(choices, kernel, boundary);
        let blurred = pictures(|x, grid| {
            let operator: Arc<_> = blur.blur(grid).expect("a grid");
            let mut unknown = vec![0.0; operator.domain().len()];
            operator.window().extend(&x, &mut unknown);
            let mut out = vec![0.0; x.len()];
            operator.apply(&unknown, &mut out, &mut operator.scratch());
            out
        });
        visitor.visit(&format!("deblurring, {boundary:?}"), &blur, blurred);
    }

    visitor.visit("colour, deblurring", blurred_colours(choices), colours());

    let grid = Grid::image(6, 8);
    let measured: Vec<bool> = (0..48).map(|j| j % 3 != 1).collect();
    let mask = Mask::new(grid, measured.clone()).expect("one entry per pixel");
    let hidden = pictures(|x, _| {
        let hide = |(x, measured): (f64, &bool)| if *measured { x } else { 0.0 };
        x.into_iter().zip(&measured).map(hide).collect()
    });
    let hidden = hidden
        .into_iter()
        .filter(|pair| pair.grid == grid)
        .collect();
    visitor.visit("inpainting", TvInpainting { choices, mask }, hidden);

    let weights = FourierWeights::new(8, FourierWeights::TV, 0.5).expect("8 samples");
    visitor.visit("sampling", weights, frequencies());
}

/// Deblurring in colour, with the radius of a disc that is learned.
fn blurred_colours(choices: TvChoices) -> ColourFamily<TvDeblurring, TvDeblurring> {
    let shape = KernelShape::Disc { radius: 0.8 };
    let width = Choice::Learned {
        start: -0.1,
        lower: -0.2,
        upper: 0.0,
    };
    let family = || TvDeblurring::with_width(choices, shape, width, BlurBoundary::Unknown);
    let family = || family().expect("a kernel of 3 x 3 pixels");
    ColourFamily::new(family(), family(), &["nu", "xi", "width"])
}

/// Signals of two lengths.
fn signals() -> Vec<Pair> {
    let seed = Seed::new(1);
    let signal = |index: usize| {
        let truth = phantom::box_function(16 + 4 * index, seed, index).expect("a size");
        let data = noise::gaussian(&truth, 0.1, seed, index).expect("a deviation");
        let grid = Grid::line(truth.len());
        Pair { grid, truth, data }
    };
    (0..3).map(signal).collect()
}

/// Pictures of two sizes, measured by an operator.
fn pictures(measure: impl Fn(Vec<f64>, Grid) -> Vec<f64>) -> Vec<Pair> {
    let seed = Seed::new(2);
    let picture = |index: usize| {
        let (rows, cols) = if index == 1 { (5, 7) } else { (6, 8) };
        let grid = Grid::image(rows, cols);
        let truth = phantom::dead_leaves(rows, cols, seed, index).expect("a size");
        let noisy = noise::gaussian(&truth, 0.1, seed, index).expect("a deviation");
        let data = measure(noisy, grid);
        Pair { grid, truth, data }
    };
    (0..3).map(picture).collect()
}

/// Small volumes.
fn volumes() -> Vec<Pair> {
    let seed = Seed::new(4);
    let grid = Grid::volume(3, 4, 5);
    let volume = |index: usize| {
        let truth = phantom::dead_leaves_volume([3, 4, 5], seed, index).expect("a size");
        let data = noise::gaussian(&truth, 0.1, seed, index).expect("a deviation");
        Pair { grid, truth, data }
    };
    (0..2).map(volume).collect()
}

/// Pictures in colour, of two sizes.
pub(crate) fn colours() -> Vec<Pair> {
    let seed = Seed::new(2);
    let picture = |index: usize| {
        let (rows, cols) = if index == 1 { (4, 5) } else { (5, 4) };
        let truth = phantom::dead_leaves_in_colour(rows, cols, seed, index).expect("a size");
        let data = noise::gaussian(&truth, 0.1, seed, index).expect("a deviation");
        let grid = Grid::image(rows, cols).colour();
        Pair { grid, truth, data }
    };
    (0..2).map(picture).collect()
}

/// Noisy frequencies of signals.
fn frequencies() -> Vec<Pair> {
    let seed = Seed::new(3);
    let grid = Grid::line(8).complex();
    let fourier = Fourier::new(grid).expect("8 samples");
    let signal = |index: usize| {
        let truth = phantom::box_function(8, seed, index).expect("a size");
        let truth: Vec<f64> = truth.iter().flat_map(|&x| [x, 0.0]).collect();
        let mut data = vec![0.0; 16];
        fourier.apply(&truth, &mut data, &mut fourier.scratch());
        let data = noise::complex_gaussian(&data, 0.05, seed, index).expect("a deviation");
        Pair { grid, truth, data }
    };
    (0..2).map(signal).collect()
}
