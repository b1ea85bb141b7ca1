//! Denoises a synthetic picture, and writes the noisy picture, its reconstruction and the truth
//! side by side to a PNG file.
//!
//! ```sh
//! cargo run --release -p bilevel-imaging --example denoise -- denoised.png
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use imaging::{Denoising, Grid, Seed, TvParameters, noise, phantom, quality};
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};

const SIZE: usize = 256;
/// White pixels between two panels.
const GAP: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "denoised.png".into());
    let truth = phantom::dead_leaves(SIZE, SIZE, Seed::new(6), 0)?;
    let noisy = noise::gaussian(&truth, 0.1, Seed::new(6), 0)?;
    let parameters = TvParameters {
        alpha: 0.1,
        nu: 5e-3,
        xi: 1e-3,
    };
    let objective = Denoising::new(Grid::image(SIZE, SIZE), &noisy, parameters)?;

    println!("           error at most  gradients");
    let mut state = State::new(noisy.clone());
    let mut scratch = objective.scratch();
    for target in [1.0, 1e-1, 1e-2, 1e-3] {
        let stop = Stop::accuracy(ErrorBound::new(target)?);
        let solved = Solver::default().refine(&objective, stop, &mut state, &mut scratch)?;
        println!(
            "to {target:<6}  {:13.1e}  {:9}",
            solved.error, solved.gradients
        );
    }
    for (name, x) in [("noisy", &noisy[..]), ("reconstructed", state.point())] {
        let psnr = quality::psnr(x, &truth, 1.0)?;
        let ssim = quality::ssim(x, &truth, SIZE, SIZE, 1.0)?;
        println!("{name:13}  PSNR {psnr:.1} dB  SSIM {ssim:.2}");
    }
    write_panels(&path, &[&noisy, state.point(), &truth])?;
    println!("wrote {path}");
    Ok(())
}

/// Writes pictures side by side. 0 is black and 1 is white.
fn write_panels(path: &str, panels: &[&[f64]]) -> Result<(), Box<dyn Error>> {
    let width = panels.len() * (SIZE + GAP) - GAP;
    let mut pixels = vec![u8::MAX; width * SIZE];
    for (panel, values) in panels.iter().enumerate() {
        for (row, values) in values.chunks_exact(SIZE).enumerate() {
            let start = row * width + panel * (SIZE + GAP);
            for (pixel, value) in pixels[start..start + SIZE].iter_mut().zip(values) {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "clamped to the range of a byte"
                )]
                let grey = (255.0 * value.clamp(0.0, 1.0)).round() as u8;
                *pixel = grey;
            }
        }
    }
    let file = BufWriter::new(File::create(path)?);
    let (width, height) = (u32::try_from(width)?, u32::try_from(SIZE)?);
    let mut encoder = png::Encoder::new(file, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(())
}
