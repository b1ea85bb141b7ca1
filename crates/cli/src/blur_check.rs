//! Checks of blur kernels, and of blurred pictures for the model of deblurring in which the blur
//! wraps around at the borders of a picture (`--boundary periodic`).
//!
//! A camera does not blur like that: it mixes in what lies outside of the picture. Where opposite
//! borders differ, the periodic model then explains the difference by strong oscillations. The
//! checks find such pictures before they are used, and kernels that were probably meant in another
//! way.
//!
//! ```
//! use bilevel_cli::blur_check::{border_jump, is_periodic, kernel_warnings};
//!
//! let kernel = [0.25, 0.5, 0.25];
//! assert!(kernel_warnings("the kernel k.npy", &kernel, [1, 3]).is_empty());
//! // A ramp is smooth inside, but jumps from its last column to its first.
//! let ramp: Vec<f64> = (0..20).map(|i| f64::from(i % 10)).collect();
//! assert_eq!(border_jump(&ramp, [2, 10], &kernel, [1, 3]), 9.0);
//! assert!(!is_periodic(&ramp, [2, 10], &kernel, [1, 3]));
//! ```

/// Largest [`border_jump`] of pictures that are taken as periodic.
///
/// Measured on the 25 Kodak photographs with noise of up to 0.05, blurred by Gaussians of standard
/// deviation 1 to 4, discs of radius 3 and 7, and motion over 9 pixels: blur that wraps around
/// gives at most 1.67 in all cases; blur that does not exceeds 2 in 84 % of the cases with noise
/// 0.05, in 97 % with noise 0.01, and in 99 % without noise.
pub const MAX_BORDER_JUMP: f64 = 2.0;

/// Largest share of a kernel that may lie on its border. A Gaussian that is cut off at twice its
/// standard deviation of 2 has 11 % there, one that is cut off at three times has 1 %.
const MAX_BORDER_SHARE: f64 = 0.01;

/// Largest distance of the sum of a kernel from 1.
const MAX_SUM_ERROR: f64 = 0.01;

/// Advice on pictures that are not periodic.
const ADVICE: &str = "reconstructions are unreliable near the borders, often everywhere, and may \
     be worse than the input. Use the boundary `unknown`, which is the default";

/// Returns how much larger the jump across opposite borders is than any change inside a picture.
///
/// The jump is the mean absolute difference between the first and the last column, and the change
/// inside is the same for two neighbouring columns, at its largest. The ratio does not depend on
/// brightness and contrast. Rows are treated likewise, and the larger ratio counts. An axis along
/// which the kernel does not blur is ignored, and so is an axis with fewer than three pixels. A
/// ratio is infinite if there is a jump but no change inside.
///
/// In a picture whose blur wraps around, the jump is blurred, too, so that its neighbours differ
/// almost as much: the ratio is at most that of the two largest weights of the blur.
///
/// Shapes are given as rows and columns.
///
/// # Panics
/// When `picture` or `kernel` does not have as many values as its shape says.
#[must_use]
pub fn border_jump(
    picture: &[f64],
    [rows, cols]: [usize; 2],
    kernel: &[f64],
    kernel_shape: [usize; 2],
) -> f64 {
    assert_eq!(picture.len(), rows * cols, "values of the picture");
    let [blurs_rows, blurs_cols] = blurred_axes(kernel, kernel_shape);
    let cols_differ = |j: usize, k: usize| {
        let differences = picture
            .chunks_exact(cols)
            .map(|row| (row[j] - row[k]).abs());
        differences.sum::<f64>() / rows as f64
    };
    let rows_differ = |j: usize, k: usize| {
        let (first, second) = (&picture[j * cols..][..cols], &picture[k * cols..][..cols]);
        let differences = first.iter().zip(second).map(|(a, b)| (a - b).abs());
        differences.sum::<f64>() / cols as f64
    };
    let mut largest: f64 = 0.0;
    if blurs_cols && cols >= 3 {
        largest = largest.max(ratio(cols, cols_differ));
    }
    if blurs_rows && rows >= 3 {
        largest = largest.max(ratio(rows, rows_differ));
    }
    largest
}

/// The difference of the last line and the first, over the largest difference of neighbours.
fn ratio(num_lines: usize, differ: impl Fn(usize, usize) -> f64) -> f64 {
    let jump = differ(num_lines - 1, 0);
    let inside = (1..num_lines).map(|line| differ(line - 1, line));
    let inside = inside.fold(0.0, f64::max);
    if jump > 0.0 { jump / inside } else { 0.0 }
}

/// Whether the blur changes values along columns of pixels, and along rows of pixels.
fn blurred_axes(kernel: &[f64], [rows, cols]: [usize; 2]) -> [bool; 2] {
    assert_eq!(kernel.len(), rows * cols, "values of the kernel");
    let mut entries = kernel
        .iter()
        .enumerate()
        .filter(|(_, value)| **value != 0.0);
    let position = |(index, _): (usize, &f64)| [index / cols, index % cols];
    let Some([row, col]) = entries.next().map(position) else {
        return [false; 2];
    };
    entries.map(position).fold([false; 2], |axes, [r, c]| {
        [axes[0] | (r != row), axes[1] | (c != col)]
    })
}

/// Whether the [`border_jump`] of a picture is at most [`MAX_BORDER_JUMP`].
///
/// # Panics
/// As [`border_jump`].
#[must_use]
pub fn is_periodic(
    picture: &[f64],
    shape: [usize; 2],
    kernel: &[f64],
    kernel_shape: [usize; 2],
) -> bool {
    border_jump(picture, shape, kernel, kernel_shape) <= MAX_BORDER_JUMP
}

/// Returns a warning about measured pictures that are not periodic, if there are any. `jumps` are
/// the names of all measured pictures with their [`border_jump`].
#[must_use]
pub fn periodicity_warning(jumps: &[(String, f64)]) -> Option<String> {
    let mut others = jumps.iter().filter(|(_, jump)| *jump > MAX_BORDER_JUMP);
    let (name, jump) = others.next()?;
    let count = match (jumps.len(), 1 + others.count()) {
        (1, _) => format!("{name} is not periodic"),
        (all, some) => format!("{some} of {all} pictures are not periodic, the first is {name}"),
    };
    Some(format!(
        "the model assumes that pictures repeat at their borders, but {count} (the jump across \
         its opposite borders is {jump:.1} times the largest change inside): {ADVICE}"
    ))
}

/// Returns warnings about a kernel that was probably meant in another way: it does not sum to 1,
/// has negative values, has no middle, has its origin in a corner, or is cut off by its border.
/// `name` is for messages, and `shape` consists of rows and columns.
///
/// A kernel whose values are zero or all the same, such as that of motion, is not taken as cut
/// off, and neither is one of three or fewer pixels.
///
/// # Panics
/// When `kernel` does not have as many values as `shape` says.
#[must_use]
pub fn kernel_warnings(name: &str, kernel: &[f64], [rows, cols]: [usize; 2]) -> Vec<String> {
    assert_eq!(kernel.len(), rows * cols, "values of the kernel");
    let mut warnings = Vec::new();
    let sum: f64 = kernel.iter().sum();
    if (sum - 1.0).abs() > MAX_SUM_ERROR {
        warnings.push(format!(
            "{name} sums to {sum}: it is divided by its sum, so that the blur keeps the \
             brightness of pictures"
        ));
    }
    let negative: f64 = kernel.iter().map(|value| (-value).max(0.0)).sum();
    if negative > 0.0 {
        let share = 100.0 * negative / kernel.iter().map(|value| value.abs()).sum::<f64>();
        warnings.push(format!(
            "{share:.2} % of {name} are negative, but the blur of a camera has no negative values: \
             if the kernel was measured, subtract its background"
        ));
    }
    if rows % 2 == 0 || cols % 2 == 0 {
        let (row, col) = (rows / 2, cols / 2);
        warnings.push(format!(
            "{name} has {rows} x {cols} values and no middle: row {row}, column {col}, \
             counted from 0, is used as its origin. Add rows or columns of zeros to make both \
             numbers odd"
        ));
    }
    let at = |index: usize| [index / cols, index % cols];
    let is_end = |position: usize, len: usize| len > 1 && (position == 0 || position == len - 1);
    let is_corner = |[row, col]: [usize; 2]| {
        (rows == 1 || is_end(row, rows)) && (cols == 1 || is_end(col, cols))
    };
    let size = |index: usize| kernel[index].abs();
    let largest = (0..kernel.len()).fold(0, |largest, index| {
        if size(index) > size(largest) {
            index
        } else {
            largest
        }
    });
    let middle = rows / 2 * cols + cols / 2;
    if kernel.len() > 1 && is_corner(at(largest)) && size(middle) < 0.5 * size(largest) {
        warnings.push(format!(
            "the largest value of {name} is in a corner, but the program takes its \
             middle as the origin: if the origin is in the corner, shift the kernel with \
             `numpy.fft.fftshift`"
        ));
        return warnings;
    }
    let is_border = |index: usize| {
        let [row, col] = at(index);
        rows > 3 && is_end(row, rows) || cols > 3 && is_end(col, cols)
    };
    let total: f64 = (0..kernel.len()).map(size).sum();
    let on_border: f64 = (0..kernel.len())
        .filter(|index| is_border(*index))
        .map(size)
        .sum();
    let is_flat =
        (0..kernel.len()).all(|index| size(index) == 0.0 || size(index) >= 0.99 * size(largest));
    if on_border > MAX_BORDER_SHARE * total && !is_flat {
        warnings.push(format!(
            "{:.0} % of {name} lie on its border: if the blur continues beyond it, use a larger \
             array, in which the kernel fades to zero",
            100.0 * on_border / total
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use imaging::{Convolution, Grid, LinearOperator as _, Seed, noise, phantom};

    fn gaussian(deviation: f64, radius: usize) -> (Vec<f64>, [usize; 2]) {
        let size = 2 * radius + 1;
        let weight = |i: usize| (-0.5 * ((i as f64 - radius as f64) / deviation).powi(2)).exp();
        let values = (0..size * size).map(|i| weight(i / size) * weight(i % size));
        let values: Vec<f64> = values.collect();
        let sum: f64 = values.iter().sum();
        (values.iter().map(|value| value / sum).collect(), [size; 2])
    }

    fn blurred(image: &[f64], size: usize, kernel: &[f64], shape: [usize; 2]) -> Vec<f64> {
        let grid = Grid::image(size, size);
        let blur = Convolution::new(grid, kernel, Grid::image(shape[0], shape[1])).unwrap();
        let mut blurred = vec![0.0; image.len()];
        blur.apply(image, &mut blurred, &mut blur.scratch());
        blurred
    }

    /// The middle of a picture: rows and columns of pixels that see no border.
    fn middle(image: &[f64], size: usize, margin: usize) -> Vec<f64> {
        let inside = |i: &usize| (margin..size - margin).contains(i);
        let rows = (0..size).filter(inside);
        rows.flat_map(|row| {
            (0..size)
                .filter(inside)
                .map(move |col| image[row * size + col])
        })
        .collect()
    }

    #[test]
    fn blur_that_wraps_around_is_told_from_blur_that_does_not() {
        let (size, margin) = (128, 16);
        for seed in 0..10 {
            let image = phantom::dead_leaves(size, size, Seed::new(seed), 0).unwrap();
            for (deviation, radius) in [(1.0, 4), (2.0, 6), (4.0, 12)] {
                let (kernel, shape) = gaussian(deviation, radius);
                for sigma in [0.0, 0.01] {
                    let measure =
                        |clean: &[f64]| noise::gaussian(clean, sigma, Seed::new(seed), 1).unwrap();
                    let periodic = measure(&blurred(&image, size, &kernel, shape));
                    let jump = border_jump(&periodic, [size; 2], &kernel, shape);
                    assert!(jump < 1.8, "{jump} {seed} {deviation} {sigma}");
                    assert!(is_periodic(&periodic, [size; 2], &kernel, shape));
                    let real = middle(&periodic, size, margin);
                    let jump = border_jump(&real, [size - 2 * margin; 2], &kernel, shape);
                    assert!(jump > 2.1, "{jump} {seed} {deviation} {sigma}");
                    let scaled: Vec<f64> = real.iter().map(|value| 7.0 - 300.0 * value).collect();
                    let again = border_jump(&scaled, [size - 2 * margin; 2], &kernel, shape);
                    assert!((jump - again).abs() < 1e-9 * jump);
                }
            }
        }
    }

    #[expect(
        clippy::float_cmp,
        reason = "sums and ratios of small whole numbers are exact"
    )]
    #[test]
    fn axes_without_blur_do_not_count() {
        // Columns wrap around, rows do not.
        let picture: Vec<f64> = (0..25).map(|i| f64::from(i / 5)).collect();
        let (across, down) = ([1, 3], [3, 1]);
        let kernel = [0.25, 0.5, 0.25];
        assert_eq!(border_jump(&picture, [5, 5], &kernel, across), 0.0);
        assert_eq!(border_jump(&picture, [5, 5], &kernel, down), 4.0);
        assert_eq!(border_jump(&picture, [5, 5], &[0.0, 1.0, 0.0], down), 0.0);
        assert_eq!(border_jump(&[1.0; 25], [5, 5], &kernel, down), 0.0);
        assert_eq!(border_jump(&[0.0, 1.0], [2, 1], &kernel, down), 0.0);
        assert_eq!(
            border_jump(&[0.0, 0.0, 0.0, 1.0, 1.0], [5, 1], &kernel, down),
            1.0
        );
    }

    #[test]
    fn the_warning_names_the_first_picture() {
        let jumps = |jumps: &[f64]| -> Vec<(String, f64)> {
            let named = jumps.iter().enumerate();
            named.map(|(i, jump)| (format!("{i}.png"), *jump)).collect()
        };
        assert_eq!(periodicity_warning(&[]), None);
        assert_eq!(periodicity_warning(&jumps(&[1.0, 2.0])), None);
        let warning = periodicity_warning(&jumps(&[1.0, 5.25, 3.0])).unwrap();
        assert!(
            warning.contains("2 of 3 pictures are not periodic, the first is 1.png"),
            "{warning}"
        );
        assert!(warning.contains("5.2 times"), "{warning}");
        for part in ["worse than the input", "the boundary `unknown`"] {
            assert!(warning.contains(part), "{warning}");
        }
        let warning = periodicity_warning(&jumps(&[5.0])).unwrap();
        assert!(warning.contains("but 0.png is not periodic"), "{warning}");
    }

    #[test]
    fn kernels_are_checked() {
        let check = |kernel: &[f64], shape, parts: &[&str]| {
            let warnings = kernel_warnings("the kernel k.npy", kernel, shape);
            assert_eq!(warnings.len(), parts.len(), "{warnings:?}");
            for (warning, part) in warnings.iter().zip(parts) {
                assert!(
                    warning.contains(part) && warning.contains("k.npy"),
                    "{warning}"
                );
            }
        };
        let (wide, shape) = gaussian(2.0, 7);
        check(&wide, shape, &[]);
        let (cut, shape) = gaussian(2.0, 4);
        check(&cut, shape, &["% of the kernel k.npy lie on its border"]);
        // Motion, boxes and small kernels end sharply.
        check(&[0.2; 5], [1, 5], &[]);
        check(&[1.0 / 81.0; 81], [9, 9], &[]);
        check(&[0.25, 0.5, 0.25], [3, 1], &[]);
        check(&[1.0], [1, 1], &[]);
        check(
            &[0.5; 4],
            [2, 2],
            &[
                "sums to 2: it is divided by its sum",
                "2 x 2 values and no middle",
            ],
        );
        check(&[0.25; 4], [1, 4], &["row 0, column 2"]);
        // The same blur with its origin in a corner.
        let mut corner = vec![0.0; 25];
        for (index, value) in [(0, 0.4), (1, 0.15), (4, 0.15), (5, 0.15), (20, 0.15)] {
            corner[index] = value;
        }
        check(&corner, [5, 5], &["fftshift"]);
        check(
            &[-0.1, 1.2, -0.1],
            [1, 3],
            &["14.29 % of the kernel k.npy are negative"],
        );
    }
}
