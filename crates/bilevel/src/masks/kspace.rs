//! Frequencies as files and arrays have them: slices, coils, and frequency zero at the first index
//! or in the middle.

use imaging::{CoilFourier, Grid, LinearOperator, Seed, noise};

use super::MaskError;
use crate::problem::Pair;

/// Where frequency zero is in an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum FrequencyZero {
    /// At index 0 of both axes, as `numpy.fft` has it. Pixels begin at index 0.
    #[default]
    First,
    /// In the middle, at `n/2` of an axis with `n` entries, as scanners, fastMRI and BART have it.
    /// The origin of pictures and of the maps of coils is in their middle, too.
    Middle,
}

impl FrequencyZero {
    /// Returns the name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Middle => "middle",
        }
    }

    /// Returns the index with this origin of the entry `index` that is counted from zero, on an
    /// axis with `len` entries.
    const fn place(self, index: usize, len: usize) -> usize {
        match self {
            Self::First => index,
            Self::Middle => (index + len / 2) % len,
        }
    }

    /// Copies pictures, `per` numbers per sample, from this order to the one with zero first.
    fn to_first(self, [rows, cols]: [usize; 2], per: usize, values: &[f64]) -> Vec<f64> {
        let mut out = Vec::with_capacity(values.len());
        for picture in values.chunks_exact(rows * cols * per) {
            for row in 0..rows {
                for col in 0..cols {
                    let from = self.place(row, rows) * cols + self.place(col, cols);
                    out.extend_from_slice(&picture[from * per..][..per]);
                }
            }
        }
        out
    }

    /// Copies pictures, `per` numbers per sample, from the order with zero first to this one.
    #[must_use]
    pub fn from_first(self, shape: [usize; 2], per: usize, values: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; values.len()];
        let [rows, cols] = shape;
        let len = rows * cols * per;
        for (picture, out) in values.chunks_exact(len).zip(out.chunks_exact_mut(len)) {
            for (index, sample) in picture.chunks_exact(per).enumerate() {
                let [row, col] = [index / cols, index % cols];
                let to = self.place(row, rows) * cols + self.place(col, cols);
                out[to * per..][..per].copy_from_slice(sample);
            }
        }
        out
    }

    /// Returns the place where more energy is: around index 0, or around the middle.
    fn find([rows, cols]: [usize; 2], values: &[f64]) -> Self {
        let mut energy = [0.0; 2];
        // both places are far apart, also in small arrays
        let near = |index: usize, len: usize| {
            super::frequency(index, len).unsigned_abs() <= (len as u64 / 8).min(2)
        };
        let (samples, _) = values.as_chunks::<2>();
        for (index, [re, im]) in samples.iter().enumerate() {
            let (row, col) = (index / cols % rows, index % cols);
            for (energy, zero) in energy.iter_mut().zip([Self::First, Self::Middle]) {
                // the frequency that is at this place
                let at = |place: usize, len: usize| (place + len - zero.place(0, len)) % len;
                if near(at(row, rows), rows) && near(at(col, cols), cols) {
                    *energy += re * re + im * im;
                }
            }
        }
        match energy[1] > energy[0] {
            true => Self::Middle,
            false => Self::First,
        }
    }
}

/// The frequencies of a stack of slices, for one coil or several with known sensitivity maps.
#[derive(Clone, Debug)]
pub struct Kspace {
    shape: [usize; 2],
    zero: FrequencyZero,
    /// The frequencies of all slices, coil after coil, with frequency zero first.
    values: Vec<f64>,
    /// One transform for all slices, or one for each.
    fouriers: Vec<CoilFourier>,
    /// `$\sum_c|C_c|^2$` for each transform.
    sensitivities: Vec<Vec<f64>>,
}

/// A share of the largest sensitivity below which coils see nothing; a choice.
const UNSEEN: f64 = 1e-4;

impl Kspace {
    /// Checks complex frequencies with alternating real and imaginary parts. Their shape is rows x
    /// columns or slices x rows x columns. With maps of the shape coils x rows x columns, or of
    /// slices x coils x rows x columns, it is coils x rows x columns or slices x coils x rows x
    /// columns. Without `zero`, the place with more energy is taken.
    ///
    /// # Errors
    /// When a shape does not fit, or an entry is not finite.
    pub fn new(
        shape: &[usize],
        values: &[f64],
        maps: Option<(&[usize], &[f64])>,
        zero: Option<FrequencyZero>,
    ) -> Result<Self, MaskError> {
        let [num_slices, num_coils, rows, cols] = match (shape, &maps) {
            ([rows, cols], None) => [1, 1, *rows, *cols],
            ([slices, rows, cols], None) => [*slices, 1, *rows, *cols],
            ([coils, rows, cols], Some(_)) => [1, *coils, *rows, *cols],
            ([slices, coils, rows, cols], Some(_)) => [*slices, *coils, *rows, *cols],
            ([slices, 1, rows, cols], None) => [*slices, 1, *rows, *cols],
            (_, None) => {
                let needed = "rows x columns or slices x rows x columns; for several coils, give \
                              their sensitivity maps, too";
                return Err(wrong("the array of frequencies", shape, needed));
            }
            (_, Some(_)) => {
                let needed = "coils x rows x columns or slices x coils x rows x columns, since \
                              there are maps of coils";
                return Err(wrong("the array of frequencies", shape, needed));
            }
        };
        if num_slices == 0 {
            return Err(MaskError::NoSlices);
        }
        let is_full = [num_slices, num_coils, rows, cols]
            .iter()
            .try_fold(2_usize, |product, len| product.checked_mul(*len));
        if rows < 2 || cols < 2 || is_full != Some(values.len()) {
            let needed = "at least 2 rows and 2 columns, and as many entries as its shape says";
            return Err(wrong("the array of frequencies", shape, needed));
        }
        check_finite("the array of frequencies", shape, values)?;
        let mut sensitivities = Vec::new();
        let mut fouriers = Vec::new();
        let zero = zero.unwrap_or_else(|| FrequencyZero::find([rows, cols], values));
        match maps {
            None => {
                fouriers.push(CoilFourier::single(rows, cols)?);
                sensitivities.push(vec![1.0; rows * cols]);
            }
            Some((found, maps)) => {
                let one = [num_coils, rows, cols];
                let all = [num_slices, num_coils, rows, cols];
                if (found != one && found != all)
                    || maps.len() != 2 * found.iter().product::<usize>()
                {
                    let needed = format!(
                        "{one:?} (coils x rows x columns) or {all:?}, one set of maps for each \
                         slice"
                    );
                    return Err(wrong("the array of sensitivity maps", found, needed));
                }
                check_finite("the array of sensitivity maps", found, maps)?;
                for maps in maps.chunks_exact(2 * num_coils * rows * cols) {
                    let maps = zero.to_first([rows, cols], 2, maps);
                    fouriers.push(CoilFourier::new(rows, cols, &maps)?);
                    let (entries, _) = maps.as_chunks::<2>();
                    let mut squares = vec![0.0; rows * cols];
                    for (index, [re, im]) in entries.iter().enumerate() {
                        squares[index % (rows * cols)] += re * re + im * im;
                    }
                    sensitivities.push(squares);
                }
            }
        }
        Ok(Self {
            shape: [rows, cols],
            zero,
            values: zero.to_first([rows, cols], 2, values),
            fouriers,
            sensitivities,
        })
    }

    /// Returns the frequencies of complex pictures, in the order with frequency zero first, as one
    /// coil sees them.
    ///
    /// # Errors
    /// When there are no pictures, they do not fit, or an entry is not finite.
    pub fn of_pictures(shape: [usize; 2], pictures: &[Vec<f64>]) -> Result<Self, MaskError> {
        let [rows, cols] = shape;
        let fourier = CoilFourier::single(rows, cols)?;
        let mut values = Vec::new();
        let mut frequencies = vec![0.0; fourier.domain().len()];
        for picture in pictures {
            if picture.len() != frequencies.len() {
                let needed = format!("{rows} x {cols} complex pixels");
                return Err(wrong("a picture", &[picture.len() / 2], needed));
            }
            fourier.apply(picture, &mut frequencies, &mut fourier.scratch());
            values.extend_from_slice(&frequencies);
        }
        let first = Some(FrequencyZero::First);
        Self::new(&[pictures.len(), rows, cols], &values, None, first)
    }

    /// The number of slices.
    #[must_use]
    pub fn num_slices(&self) -> usize {
        self.values.len() / self.slice_len()
    }

    /// The number of coils.
    #[must_use]
    pub fn num_coils(&self) -> usize {
        self.fouriers[0].num_coils()
    }

    /// The numbers of rows and columns.
    #[must_use]
    pub const fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// The grid of a slice.
    #[must_use]
    pub const fn grid(&self) -> Grid {
        Grid::image(self.shape[0], self.shape[1]).complex()
    }

    /// Where frequency zero was in the array.
    #[must_use]
    pub const fn zero(&self) -> FrequencyZero {
        self.zero
    }

    fn slice_len(&self) -> usize {
        2 * self.num_coils() * self.shape[0] * self.shape[1]
    }

    /// The frequencies of a slice, coil after coil, with frequency zero first.
    #[must_use]
    pub fn slice(&self, index: usize) -> &[f64] {
        &self.values[index * self.slice_len()..][..self.slice_len()]
    }

    /// The transform of a slice.
    #[must_use]
    pub fn fourier(&self, index: usize) -> &CoilFourier {
        &self.fouriers[index % self.fouriers.len()]
    }

    /// Returns the transforms and frequencies of some slices.
    #[must_use]
    pub fn select(&self, slices: &[usize]) -> Self {
        let per_slice = self.fouriers.len() > 1;
        let sets: Vec<usize> = if per_slice { slices.to_vec() } else { vec![0] };
        Self {
            shape: self.shape,
            zero: self.zero,
            values: slices
                .iter()
                .flat_map(|&i| self.slice(i))
                .copied()
                .collect(),
            fouriers: sets.iter().map(|&i| self.fouriers[i].clone()).collect(),
            sensitivities: sets
                .iter()
                .map(|&i| self.sensitivities[i].clone())
                .collect(),
        }
    }

    /// Returns the picture of a slice whose frequencies were all measured: the least-squares
    /// combination of all coils, and zero where no coil sees anything. Pixels begin at index 0.
    #[must_use]
    pub fn picture(&self, index: usize) -> Vec<f64> {
        self.combine(index, self.slice(index))
    }

    fn combine(&self, index: usize, frequencies: &[f64]) -> Vec<f64> {
        let fourier = self.fourier(index);
        let mut picture = vec![0.0; fourier.domain().len()];
        fourier.apply_adjoint(frequencies, &mut picture, &mut fourier.scratch());
        let squares = &self.sensitivities[index % self.sensitivities.len()];
        let least = UNSEEN * squares.iter().copied().fold(0.0, f64::max);
        for (sample, square) in picture.chunks_exact_mut(2).zip(squares) {
            let scale = if *square > least { 1.0 / square } else { 0.0 };
            sample.iter_mut().for_each(|part| *part *= scale);
        }
        picture
    }

    /// Returns the largest modulus of all pictures from the frequencies with positive weights.
    #[must_use]
    pub fn brightest(&self, weights: &[f64]) -> f64 {
        let of_slice = |index: usize| {
            let mut frequencies = self.slice(index).to_vec();
            for (at, sample) in frequencies.chunks_exact_mut(2).enumerate() {
                if !(weights[at % weights.len()] > 0.0) {
                    sample.fill(0.0);
                }
            }
            let picture = self.combine(index, &frequencies);
            let (samples, _) = picture.as_chunks::<2>();
            (samples.iter().map(|s| s[0].hypot(s[1]))).fold(0.0, f64::max)
        };
        (0..self.num_slices()).map(of_slice).fold(0.0, f64::max)
    }

    /// Returns pairs to learn from: pictures and their frequencies, divided by `unit`, with complex
    /// noise of standard deviation `sigma` added to the frequencies.
    ///
    /// # Errors
    /// When the unit is not positive, or the noise is negative or not finite.
    pub fn pairs(&self, unit: f64, sigma: f64, seed: Seed) -> Result<Vec<Pair>, MaskError> {
        if !(unit > 0.0 && unit < f64::INFINITY) {
            return Err(MaskError::NoSignal { index: 0 });
        }
        let divided = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v / unit).collect() };
        let pair = |index: usize| {
            let data = divided(self.slice(index));
            Ok(Pair {
                grid: self.grid(),
                truth: divided(&self.picture(index)),
                data: match sigma {
                    0.0 => data,
                    _ => noise::complex_gaussian(&data, sigma, seed, index)?,
                },
            })
        };
        (0..self.num_slices()).map(pair).collect()
    }

    /// The transforms of all slices, or one for all of them.
    pub(super) fn fouriers(&self) -> &[CoilFourier] {
        &self.fouriers
    }
}

fn wrong(name: &'static str, found: &[usize], needed: impl Into<String>) -> MaskError {
    MaskError::Shape {
        name,
        found: found.to_vec(),
        needed: needed.into(),
    }
}

fn check_finite(name: &'static str, shape: &[usize], values: &[f64]) -> Result<(), MaskError> {
    let Some(position) = values.iter().position(|value| !value.is_finite()) else {
        return Ok(());
    };
    let mut rest = position / 2;
    let mut at = vec![0; shape.len()];
    for (index, len) in at.iter_mut().zip(shape).rev() {
        (*index, rest) = (rest % len, rest / len);
    }
    Err(MaskError::NotFinite { name, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: [usize; 2] = [5, 4];

    fn picture() -> Vec<f64> {
        (0..40)
            .map(|i| f64::from(i * i % 17) / 17.0 + 1.0)
            .collect()
    }

    #[test]
    fn both_orders_are_found_and_undone() {
        let first = Kspace::of_pictures(SHAPE, &[picture()]).unwrap();
        let middle = FrequencyZero::Middle.from_first(SHAPE, 2, first.slice(0));
        let read = Kspace::new(&SHAPE, &middle, None, None).unwrap();
        assert_eq!(read.zero(), FrequencyZero::Middle);
        assert_eq!(read.slice(0), first.slice(0));
        let again = Kspace::new(&SHAPE, first.slice(0), None, None).unwrap();
        assert_eq!(again.zero(), FrequencyZero::First);
        // the constant of the picture is the frequency zero, in the middle of 5 x 4
        let at = 2 * (2 * 4 + 2);
        assert_eq!(middle[at..at + 2], first.slice(0)[..2]);
    }

    #[test]
    fn pictures_of_several_coils_are_combined() {
        // two coils, of which the first is blind in one pixel and both in another
        let mut maps: Vec<f64> = (0..80).map(|i| 0.3 + f64::from(i % 7) / 7.0).collect();
        maps[6..8].fill(0.0);
        maps[10..12].fill(0.0);
        maps[50..52].fill(0.0);
        let fourier = CoilFourier::new(5, 4, &maps).unwrap();
        let mut frequencies = vec![0.0; 80];
        let mut truth = picture();
        fourier.apply(&truth, &mut frequencies, &mut fourier.scratch());
        let shape = [2, 5, 4];
        let maps = (&shape[..], &maps[..]);
        let first = Some(FrequencyZero::First);
        let kspace = Kspace::new(&shape, &frequencies, Some(maps), first).unwrap();
        truth[10..12].fill(0.0);
        let found = kspace.picture(0);
        let worst = found.iter().zip(&truth).map(|(a, b)| (a - b).abs());
        assert!(worst.fold(0.0, f64::max) < 1e-12, "{found:?}");
        assert_eq!((kspace.num_slices(), kspace.num_coils()), (1, 2));
    }

    #[test]
    fn bad_arrays_are_refused_with_advice() {
        let says = |shape: &[usize], values: &[f64], maps: Option<(&[usize], &[f64])>| {
            Kspace::new(shape, values, maps, None)
                .unwrap_err()
                .to_string()
        };
        let values = [1.0; 80];
        assert!(says(&[40], &values, None).contains("slices x rows x columns"));
        assert!(says(&[2, 2, 2, 5], &values, None).contains("sensitivity maps"));
        assert!(says(&[0, 2, 5], &[], None).contains("at least one"));
        assert!(says(&[1, 40], &values, None).contains("at least 2 rows"));
        let mut bad = values;
        bad[23] = f64::NAN;
        assert!(says(&[2, 5, 4], &bad, None).contains("[0, 2, 3] of the array of frequencies"));
        let maps = Some((&[3, 5, 4][..], &[1.0; 120][..]));
        assert!(says(&[2, 5, 4], &values, maps).contains("[2, 5, 4] (coils x rows x columns)"));
        let maps = Some((&[2, 5, 4][..], &[0.0; 80][..]));
        assert!(says(&[2, 5, 4], &values, maps).contains("squared sensitivity"));
    }
}
