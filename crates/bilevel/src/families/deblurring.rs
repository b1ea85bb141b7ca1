use std::sync::Arc;

use imaging::{
    Blur, BlurBoundary, Differences, Grid, Kernel, KernelShape, LinearOperator, ModelError,
    OperatorSlope, Variational, VariationalScratch, Weights, Window,
};
use lowlevel::adjoint::MixedBound;

use super::blur::FamilyBlur;
use super::choices::{Choices, ModelDerivatives};
use super::{Choice, FamilyKind, FilterChoices, ImageData, TvChoices};
use crate::criterion::Forward;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;

/// A family of deblurring problems with the kernel `$h$`, with the objective
/// `$\frac12\|C(h * x) - y\|_S^2 + R(x) + \frac{\xi}{2}\|x\|^2$`.
///
/// `$R$` is total variation ([`TvDeblurring`]) or a convex filter bank ([`FilterDeblurring`]). With
/// [`BlurBoundary::Unknown`], the unknown `$x$` is larger than the data `$y$` by the size of the
/// kernel, and `$C$` is the crop to the measured pixels. The image, whose distance from the truth
/// is the loss, is this part of the unknown. With [`BlurBoundary::Periodic`], nothing is cropped.
///
/// Samples of the data that are NaN were not measured, such as dead or saturated pixels: their
/// weights in `$S$` are zero. The weights of all others are 1.
///
/// The kernel is known, or a Gaussian or a disc whose width is learned, too
/// ([`with_width`](Self::with_width)). Pictures may be complex, as the chroma of pictures in colour
/// is.
#[derive(Debug)]
pub struct Deblurring<C> {
    choices: C,
    blur: FamilyBlur,
}

/// The family of deblurring problems with total variation, with the objective
/// `$\frac12\|C(h * x) - y\|_S^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`.
pub type TvDeblurring = Deblurring<TvChoices>;

/// The family of deblurring problems with a convex filter bank, with the objective
/// `$\frac12\|C(h * x) - y\|_S^2 + \sum_k\alpha_k\sum_j\sqrt{(c_k * x)_j^2 + \nu_k^2} +
/// \frac{\xi}{2}\|x\|^2$`.
pub type FilterDeblurring = Deblurring<FilterChoices>;

impl<C> Deblurring<C> {
    /// Creates the family for a blur by `kernel`.
    #[must_use]
    pub fn new(choices: C, kernel: Kernel, boundary: BlurBoundary) -> Self {
        let blur = FamilyBlur::new(kernel, boundary);
        Self { choices, blur }
    }

    /// Creates the family for a blur by a Gaussian or a disc, whose width is learned as its
    /// exponent or fixed. The last parameter is then `width`.
    ///
    /// # Errors
    /// When the shape has no width, or a width is out of range.
    pub fn with_width(
        choices: C,
        shape: KernelShape,
        width: Choice,
        boundary: BlurBoundary,
    ) -> Result<Self, ModelError> {
        let blur = FamilyBlur::of_width(shape, width, boundary)?;
        Ok(Self { choices, blur })
    }

    /// The kernel. If its width is learned, it has the width at which learning starts.
    #[must_use]
    pub const fn kernel(&self) -> &Kernel {
        self.blur.kernel()
    }

    /// What lies beyond the borders of pictures.
    #[must_use]
    pub const fn boundary(&self) -> BlurBoundary {
        self.blur.boundary()
    }

    /// The regulariser and its parameters.
    #[must_use]
    pub const fn choices(&self) -> &C {
        &self.choices
    }

    /// Returns the blur of images on `grid`, by the kernel of [`kernel`](Self::kernel).
    ///
    /// # Errors
    /// When the kernel is larger than the image, or has another number of axes.
    pub fn blur(&self, grid: Grid) -> Result<Arc<Blur>, ModelError> {
        self.blur.at(grid, None)
    }
}

/// A blurred image, checked, with its place in the unknown.
#[derive(Clone, Debug)]
pub struct BlurredData {
    image: ImageData,
    window: Window,
    missing: Option<Missing>,
}

/// Samples that were not measured.
#[derive(Clone, Debug)]
struct Missing {
    weights: Vec<f64>,
    measured: Vec<bool>,
}

impl BlurredData {
    fn weights(&self) -> Weights<'_> {
        match &self.missing {
            None => Weights::Uniform,
            Some(missing) => Weights::Diagonal(&missing.weights),
        }
    }
}

/// Replaces the samples of `data` that are NaN by the measured sample before them, or by the first
/// measured one. Returns for every sample whether it was measured, unless all were.
pub(super) fn fill_missing(
    grid: Grid,
    data: &[f64],
) -> Result<(Vec<f64>, Option<Vec<bool>>), ModelError> {
    let mut filled = data.to_vec();
    if !data.iter().any(|value| value.is_nan()) {
        return Ok((filled, None));
    }
    let parts = grid.num_parts();
    let is_measured = |sample: &[f64]| !sample.iter().any(|value| value.is_nan());
    let measured: Vec<bool> = data.chunks(parts).map(is_measured).collect();
    let first = (measured.iter().position(|one| *one)).ok_or(ModelError::NothingMeasured)?;
    let mut last = first;
    for (index, sample) in filled.chunks_mut(parts).enumerate() {
        if measured[index] {
            last = index;
        } else {
            sample.copy_from_slice(&data[parts * last..parts * (last + 1)]);
        }
    }
    Ok((filled, Some(measured)))
}

/// The differences on the grid of the unknown. Beyond a picture with unknown surroundings nothing
/// is known either, so no difference may cross its border.
fn differences(window: Window) -> Differences {
    if window.is_whole() {
        Differences::of_paper(window.outer())
    } else {
        Differences::IMAGE_OF_PAPER
    }
}

impl<C: Choices> LowerLevel for Deblurring<C> {
    type Data = BlurredData;
    type Scratch = VariationalScratch<<Blur as LinearOperator>::Scratch>;
    type Objective<'a>
        = Variational<'a, Arc<Blur>, C::Regularizer>
    where
        Self: 'a;

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = self.choices.parameters();
        parameters.extend(self.blur.parameter().cloned());
        parameters
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<BlurredData, BoxError> {
        let window = self.blur.window(grid)?;
        let (filled, measured) = fill_missing(grid, data)?;
        let missing = measured.map(|measured| Missing {
            weights: measured.iter().copied().map(f64::from).collect(),
            measured,
        });
        Ok(BlurredData {
            image: ImageData::new(grid, &filled)?,
            window,
            missing,
        })
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a BlurredData,
    ) -> Result<Self::Objective<'a>, BoxError> {
        let (values, width) = self.blur.split(values);
        let blur = self.blur.at(data.image.grid, width)?;
        let differences = differences(data.window);
        let (measurement, weights) = (&data.image.values, data.weights());
        (self.choices).model(values, blur, measurement, weights, differences)
    }

    /// Starts at the data, continued by their edge.
    fn cold_start(&self, data: &BlurredData, x: &mut [f64]) {
        data.window.extend(data.image.values.values(), x);
    }

    fn window(&self, grid: Grid) -> Window {
        let window = self.blur.window(grid);
        window.unwrap_or_else(|_| Window::whole(grid)) // `prepare` refuses this grid
    }

    fn takes_missing(&self) -> bool {
        true
    }

    fn derivatives<'a, 'b>(
        &'a self,
        values: &'a [f64],
        objective: &'a Self::Objective<'b>,
    ) -> Option<Box<dyn Derivatives<Self::Scratch> + 'a>>
    where
        Self: 'b,
    {
        let (values, width) = self.blur.split(values);
        let others = self.choices.derivatives(values, objective)?;
        let Some(width) = width else {
            return Some(others);
        };
        let grid = objective.operator().codomain();
        Some(Box::new(WidthDerivatives::<C> {
            others,
            objective,
            slope: self.blur.slope(grid, width).ok()?,
            is_periodic: self.boundary() == BlurBoundary::Periodic,
        }))
    }

    fn forward<'a>(&'a self, values: &[f64], data: &'a BlurredData) -> Option<Forward<'a>> {
        let (_, width) = self.blur.split(values);
        let blur = self.blur.at(data.image.grid, width).ok()?;
        let mut forward = Forward::operator(blur);
        if let Some(missing) = &data.missing {
            forward = forward.measured(&missing.measured);
        }
        Some(if width.is_some() {
            forward.depends_on_parameters()
        } else {
            forward
        })
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Deblur)
    }
}

/// The derivatives with respect to the parameters of a regulariser and to the width of the blur,
/// which is the last parameter.
struct WidthDerivatives<'a, 'b, C: Choices> {
    others: ModelDerivatives<'a, Arc<Blur>>,
    objective: &'a Variational<'b, Arc<Blur>, C::Regularizer>,
    slope: Option<OperatorSlope<Arc<Blur>>>,
    is_periodic: bool,
}

impl<C: Choices> Derivatives<VariationalScratch<<Blur as LinearOperator>::Scratch>>
    for WidthDerivatives<'_, '_, C>
{
    fn mixed_product(
        &self,
        x: &[f64],
        q: &[f64],
        out: &mut [f64],
        scratch: &mut VariationalScratch<<Blur as LinearOperator>::Scratch>,
    ) {
        let [others @ .., width] = out else {
            return;
        };
        self.others.mixed_product(x, q, others, scratch);
        *width = self.slope.as_ref().map_or(0.0, |slope| {
            (self.objective).operator_mixed_product(slope, x, q, scratch)
        });
    }

    /// The width takes two gradients more.
    fn cost(&self) -> f64 {
        self.others.cost() + 2.0
    }

    fn mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        scratch: &mut VariationalScratch<<Blur as LinearOperator>::Scratch>,
    ) -> bool {
        let [others @ .., width] = out else {
            return false;
        };
        let zero = MixedBound::new(0.0, 0.0);
        *width = self.slope.as_ref().map_or(zero, |slope| {
            (self.objective).operator_mixed_bound(slope, x, q, error, scratch)
        });
        self.others.mixed_bounds(x, q, error, others, scratch)
    }

    /// With an unknown boundary, `$\mu = \xi$`, and `$L$` depends on the sum of the kernel, which
    /// is 1 for all widths.
    fn condition_gradient(&self, out: &mut [f64]) -> bool {
        let [others @ .., width] = out else {
            return false;
        };
        *width = 0.0;
        self.others.condition_gradient(others) && !self.is_periodic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_samples_take_the_one_before() {
        let nan = f64::NAN;
        let (filled, measured) =
            fill_missing(Grid::line(5), &[nan, 1.0, nan, nan, 2.0]).expect("some are measured");
        assert_eq!(filled, [1.0, 1.0, 1.0, 1.0, 2.0]);
        assert_eq!(measured, Some(vec![false, true, false, false, true]));
        // a complex sample is missing if one of its parts is
        let grid = Grid::line(2).complex();
        let (filled, measured) = fill_missing(grid, &[nan, 1.0, 3.0, 4.0]).expect("one");
        assert_eq!(
            (filled, measured),
            (vec![3.0, 4.0, 3.0, 4.0], Some(vec![false, true]))
        );
        assert_eq!(fill_missing(Grid::line(1), &[1.0]), Ok((vec![1.0], None)));
        assert_eq!(
            fill_missing(Grid::line(1), &[nan]),
            Err(ModelError::NothingMeasured)
        );
    }
}
