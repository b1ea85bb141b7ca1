//! Heads as a scanner sees them: complex pictures with a smooth phase.

use std::f64::consts::PI;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{PhantomError, SHEPP_LOGAN, num_pixels, pixel_centre};
use crate::seed::{Purpose, Seed};

/// Returns a random complex head: the Shepp-Logan phantom, moved, turned, stretched and with other
/// grey levels in its inside, times a [smooth phase](smooth_phase). It has interleaved real and
/// imaginary parts, and moduli in `$[0, 1.2]$`. `index` is the number of the picture in its set.
///
/// # Errors
/// If there are no pixels, or their number overflows.
pub fn head(rows: usize, cols: usize, seed: Seed, index: usize) -> Result<Vec<f64>, PhantomError> {
    let mut rng = seed.stream(Purpose::Head, index);
    let mut levels = vec![0.0; num_pixels(rows, cols)?];
    // The position of the head, and how its axes lie.
    let mut within = |spread: f64| uniform(&mut rng, -spread, spread);
    let (shift, slant) = ([within(0.06), within(0.06)], within(0.2));
    let stretch = [1.0 + within(0.06), 1.0 + within(0.06)];
    for (number, part) in SHEPP_LOGAN.iter().enumerate() {
        let mut within = |spread: f64| uniform(&mut rng, -spread, spread);
        let is_inside = number >= 2;
        let vary = if is_inside { 1.0 } else { 0.0 };
        let grey = f64::from(part.tenths) / 10.0 * (1.0 + vary * within(0.5));
        let axes = [part.axes.0, part.axes.1].map(|axis| axis * (1.0 + vary * within(0.25)));
        let centre = [part.centre.0, part.centre.1].map(|at| at + vary * within(0.05));
        let [cos, sin] = cos_sin((part.degrees + vary * within(10.0)) * (PI / 180.0));
        for (i, row) in levels.chunks_exact_mut(cols).enumerate() {
            let down = -pixel_centre(i, rows) - shift[1];
            for (j, level) in row.iter_mut().enumerate() {
                let across = pixel_centre(j, cols) - shift[0];
                let x = (across + slant * down) * stretch[0] - centre[0];
                let y = (down - slant * across) * stretch[1] - centre[1];
                let u = (x * cos + y * sin) / axes[0];
                let v = (y * cos - x * sin) / axes[1];
                if u * u + v * v <= 1.0 {
                    *level += grey;
                }
            }
        }
    }
    let mut picture = smooth_phase(rows, cols, seed, index)?;
    let (samples, _) = picture.as_chunks_mut::<2>();
    for (sample, level) in samples.iter_mut().zip(levels) {
        *sample = sample.map(|part| part * level.clamp(0.0, 1.2));
    }
    Ok(picture)
}

/// Returns a random complex picture of modulus 1 whose phase is smooth: a polynomial of second
/// degree plus four slow waves.
///
/// Magnetic fields and coils give such phases to the pictures of a scanner. Multiply magnitudes by
/// it before you simulate frequencies: the frequencies of a real picture are symmetric, so that a
/// mask could leave out half of them at no cost, which it cannot with a real scanner. `index` is
/// the number of the picture in its set.
///
/// # Errors
/// If there are no pixels, or their number overflows.
pub fn smooth_phase(
    rows: usize,
    cols: usize,
    seed: Seed,
    index: usize,
) -> Result<Vec<f64>, PhantomError> {
    let mut rng = seed.stream(Purpose::Phase, index);
    let mut out = Vec::with_capacity(2 * num_pixels(rows, cols)?);
    let polynomial: [f64; 6] = std::array::from_fn(|_| uniform(&mut rng, -1.0, 1.0));
    let waves: [[f64; 4]; 4] = std::array::from_fn(|_| {
        [
            PI * uniform(&mut rng, -2.0, 2.0),
            PI * uniform(&mut rng, -2.0, 2.0),
            uniform(&mut rng, 0.0, 2.0 * PI),
            0.3 * uniform(&mut rng, -1.0, 1.0),
        ]
    });
    for i in 0..rows {
        let y = pixel_centre(i, rows);
        for j in 0..cols {
            let x = pixel_centre(j, cols);
            let [constant, across, down, across2, down2, both] = polynomial;
            let mut angle = PI * constant + 1.5 * (across * x + down * y);
            angle += across2 * x * x + down2 * y * y + both * x * y;
            for [fast_x, fast_y, start, size] in waves {
                angle += size * cos_sin(fast_x * x + fast_y * y + start)[0];
            }
            out.extend(cos_sin(angle));
        }
    }
    Ok(out)
}

fn uniform(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.random::<f64>()
}

/// Returns the cosine and the sine of an angle of a few turns, by basic operations only, so that
/// they are the same on every platform: a series for a small part of the angle, then doubled.
fn cos_sin(angle: f64) -> [f64; 2] {
    const DOUBLINGS: u32 = 6;
    let small = angle / f64::from(1_u32 << DOUBLINGS);
    let square = small * small;
    // The versed sine 1 - cos and the sine lose no digits when they are doubled.
    let (mut versed, mut sine, mut term) = (0.0, 0.0, small);
    for k in 1..12_u32 {
        sine += term;
        let next = term * small / f64::from(2 * k);
        versed += next;
        term = -next * small / f64::from(2 * k + 1);
    }
    debug_assert!(square < 1.0, "an angle of a few turns");
    for _ in 0..DOUBLINGS {
        let cosine = 1.0 - versed;
        versed = 2.0 * sine * sine;
        sine *= 2.0 * cosine;
    }
    [1.0 - versed, sine]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_and_sines_are_those_of_the_library() {
        for step in -400..=400 {
            let angle = f64::from(step) / 20.0;
            let [cos, sin] = cos_sin(angle);
            assert!((cos - angle.cos()).abs() < 1e-13, "{angle}: {cos}");
            assert!((sin - angle.sin()).abs() < 1e-13, "{angle}: {sin}");
        }
    }

    #[test]
    fn phases_have_modulus_one_and_are_smooth() {
        let (rows, cols) = (40, 48);
        let phase = smooth_phase(rows, cols, Seed::new(1), 0).unwrap();
        let (samples, _) = phase.as_chunks::<2>();
        for (index, sample) in samples.iter().enumerate() {
            assert!((sample[0].hypot(sample[1]) - 1.0).abs() < 1e-12);
            if index % cols > 0 {
                let left = samples[index - 1];
                assert!((sample[0] - left[0]).hypot(sample[1] - left[1]) < 0.5);
            }
        }
        assert_ne!(phase, smooth_phase(rows, cols, Seed::new(1), 1).unwrap());
    }

    #[test]
    fn heads_are_not_symmetric_and_differ() {
        let first = head(32, 32, Seed::new(2), 0).unwrap();
        let (samples, _) = first.as_chunks::<2>();
        let moduli: Vec<f64> = samples.iter().map(|s| s[0].hypot(s[1])).collect();
        assert!(moduli[0] < 1e-15);
        assert!(moduli.iter().any(|&m| m > 0.9) && moduli.iter().all(|&m| m <= 1.2 + 1e-12));
        assert_ne!(first, head(32, 32, Seed::new(2), 1).unwrap());
        assert!(head(0, 3, Seed::new(2), 0).is_err());
    }
}
