//! Golden pictures: what the libraries compute, compared with stored pictures within one grey
//! level. Each picture in `tests/data/golden` shows the truth, the data and the reconstruction from
//! left to right.
//!
//! After a change that alters pictures on purpose, write them anew, and look at each of them:
//! `BILEVEL_WRITE_GOLDEN=1 cargo test -p bilevel-cli --test files golden`.

use std::env;
use std::path::Path;
use std::slice;

use bilevel::{
    Choice, FilterChoices, FilterDeblurring, FilterSet, LowerLevel, TvChoices, TvDenoising,
    reconstruct,
};
use bilevel_cli::picture::{self, Colour, Depth, Picture};
use imaging::{
    BlurBoundary, FourierPicture, Grid, Kernel, LinearOperator, Region, Seed, Tiling, blurred,
    denoise, denoise_by_tiles, denoise_colour, noise, phantom,
};
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};

/// The number of rows and columns of all pictures.
const SIDE: usize = 64;
const SEED: Seed = Seed::new(11);
/// The standard deviation of the noise.
const SIGMA: f64 = 0.1;

/// Compares pictures with those that are stored under this name, or stores them. Each picture has
/// the same number of channels.
fn check(name: &str, pictures: [&[&[f64]]; 3]) {
    let channels = (0..pictures[0].len()).map(|channel| {
        let row = |row: usize| {
            let part = |picture: &&[&[f64]]| picture[channel][row * SIDE..][..SIDE].to_vec();
            pictures.iter().flat_map(part).collect::<Vec<f64>>()
        };
        (0..SIDE).flat_map(row).collect()
    });
    let found = Picture {
        width: pictures.len() * SIDE,
        height: SIDE,
        channels: channels.collect(),
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/golden/{name}.png"));
    if env::var_os("BILEVEL_WRITE_GOLDEN").is_some() {
        picture::write_pages(&path, slice::from_ref(&found), Depth::Eight).expect("it is stored");
    }
    let stored = picture::read(&path, Colour::Channels).expect("a stored picture");
    assert_eq!(
        (stored.width, stored.height, stored.channels.len()),
        (found.width, found.height, found.channels.len())
    );
    for (found, stored) in found.channels.iter().zip(&stored.channels) {
        for (pixel, (found, stored)) in found.iter().zip(stored).enumerate() {
            let levels = 255.0 * (found.clamp(0.0, 1.0) - stored).abs();
            // half a level is the rounding of the stored picture
            assert!(
                levels <= 1.5,
                "{name}: {levels} grey levels at row {}, column {}",
                pixel / (3 * SIDE),
                pixel % (3 * SIDE)
            );
        }
    }
}

fn grey(name: &str, pictures: [&[f64]; 3]) {
    check(name, pictures.each_ref().map(std::slice::from_ref));
}

fn leaves() -> Vec<f64> {
    phantom::dead_leaves(SIDE, SIDE, SEED, 0).expect("a size")
}

fn noisy(truth: &[f64], sigma: f64) -> Vec<f64> {
    noise::gaussian(truth, sigma, SEED, 0).expect("finite")
}

/// Reconstructs so accurately that pictures do not depend on the solver.
fn solved<M: LowerLevel>(family: &M, values: &[f64], grid: Grid, data: &[f64]) -> Vec<f64> {
    let stop = Stop::accuracy(ErrorBound::new(1e-3).expect("positive"));
    reconstruct(family, values, grid, data, Solver::default(), stop)
        .expect("a reconstruction")
        .x
}

#[test]
fn the_shipped_denoiser() {
    let truth = leaves();
    let data = noisy(&truth, SIGMA);
    let made = denoise(Grid::image(SIDE, SIDE), &data, SIGMA, None).expect("valid");
    grey("denoised", [&truth, &data, &made.x]);
}

fn planes(picture: &Picture) -> Vec<&[f64]> {
    picture.channels.iter().map(Vec::as_slice).collect()
}

#[test]
fn the_shipped_denoiser_in_colour() {
    let truth = phantom::dead_leaves_in_colour(SIDE, SIDE, SEED, 0).expect("a size");
    let data = noisy(&truth, SIGMA);
    let [truth, data] = [truth, data].map(|x| Picture::of_interleaved(SIDE, SIDE, &x));
    let [truth, data] = [&truth, &data].map(planes);
    let channels = [data[0], data[1], data[2]];
    let made = denoise_colour(Grid::image(SIDE, SIDE), channels, SIGMA, None).expect("valid");
    let made: Vec<&[f64]> = made.channels.iter().map(Vec::as_slice).collect();
    check("colour", [&truth, &data, &made]);
}

/// The tiles are much smaller than those of the program, so that there are seams to look for.
#[test]
fn tiles() {
    let truth = leaves();
    let data = noisy(&truth, SIGMA);
    let of_region = |region: &Region, out: &mut Vec<f64>| {
        for row in region.rows.clone() {
            out.extend(&data[SIDE * row..][region.cols.clone()]);
        }
    };
    let (side, overlap) = (20, 16);
    let grid = Grid::image(SIDE, SIDE);
    let for_each = |count: usize, run: &(dyn Fn(usize) + Sync)| (0..count).for_each(run);
    let tiling = Tiling { side, overlap };
    let made = denoise_by_tiles(grid, &of_region, SIGMA, None, tiling, &for_each).expect("valid");
    let made: Vec<f64> = made.x.into_iter().map(f64::from).collect();
    grey("tiles", [&truth, &data, &made]);
}

/// A camera with a lens out of focus, whose pictures do not repeat themselves, with dead pixels.
#[test]
fn deblurring() {
    let kernel = Kernel::named("disc:2").expect("a kernel");
    let around = SIDE + 4;
    let scene = phantom::dead_leaves(around, around, SEED, 0).expect("a size");
    let (data, window) = blurred(&scene, Grid::image(around, around), &kernel).expect("it fits");
    let mut truth = vec![0.0; data.len()];
    window.crop(&scene, &mut truth);
    let mut data = noisy(&data, 0.01);
    data.iter_mut()
        .skip(7)
        .step_by(97)
        .for_each(|dead| *dead = f64::NAN);
    let set: FilterSet = "dct3".parse().expect("a set of filters");
    let choices = FilterChoices::new(set, 1e-4).expect("valid");
    let count = set.num_potentials();
    let family = FilterDeblurring::new(choices, kernel, BlurBoundary::Unknown);
    let values = [vec![2e-4; count], vec![0.01; count]].concat();
    let made = solved(&family, &values, window.inner(), &data);
    // a dead pixel is shown in black
    let data: Vec<f64> = data
        .into_iter()
        .map(|y| if y.is_nan() { 0.0 } else { y })
        .collect();
    grey("deblurred", [&truth, &data, &made]);
}

/// The middle slice of a volume.
#[test]
fn volumes() {
    let grid = Grid::volume(5, SIDE, SIDE);
    let truth = phantom::dead_leaves_volume([5, SIDE, SIDE], SEED, 0).expect("a size");
    let data = noisy(&truth, SIGMA);
    let family = TvDenoising {
        choices: TvChoices {
            nu: Choice::Fixed(0.01),
            xi: Choice::Fixed(1e-3),
            ..TvChoices::default()
        },
    };
    let made = solved(&family, &[0.06], grid, &data);
    let middle = 2 * SIDE * SIDE..3 * SIDE * SIDE;
    let [truth, data, made] = [&truth, &data, &made].map(|x| &x[middle.clone()]);
    grey("volume", [truth, data, made]);
}

/// The moduli of a head from a third of its lines.
#[test]
fn magnetic_resonance() {
    let truth = phantom::head(SIDE, SIDE, SEED, 0).expect("a size");
    let grid = Grid::image(SIDE, SIDE).complex();
    let kspace = bilevel::Kspace::of_pictures([SIDE; 2], std::slice::from_ref(&truth));
    let kspace = kspace.expect("a picture");
    let fourier = kspace.fourier(0);
    let set: Vec<bool> = (0..SIDE)
        .map(|k| !(8..=56).contains(&k) || k % 5 == 0)
        .collect();
    let weights = bilevel::Pattern::Lines.weights(grid, &set);
    let full = noise::complex_gaussian(kspace.slice(0), 0.02, SEED, 0).expect("finite");
    let (samples, _) = full.as_chunks::<2>();
    let measured = samples.iter().zip(&weights);
    let data: Vec<f64> = measured.flat_map(|(y, s)| y.map(|y| s * y)).collect();
    let tv = bilevel::MaskProblem::START;
    let model = FourierPicture::new(fourier, &data, &weights, tv).expect("valid");
    let mut state = State::new(vec![0.0; grid.len()]);
    let stop = Stop::accuracy(ErrorBound::new(1e-3).expect("positive"));
    let solved = Solver::default().minimize(&model, stop, &mut state, &mut model.scratch());
    assert!(solved.expect("finite").error.value() <= 1e-3);
    let mut zero_filled = vec![0.0; grid.len()];
    fourier.apply_adjoint(&data, &mut zero_filled, &mut fourier.scratch());
    let pictures = [&truth, &zero_filled, state.point()].map(|picture| -> Vec<f64> {
        let (samples, _) = picture.as_chunks::<2>();
        samples.iter().map(|s| s[0].hypot(s[1])).collect()
    });
    grey("head", pictures.each_ref().map(Vec::as_slice));
}
