use imaging::colour::{from_opponent_parts, to_opponent_parts};
use imaging::{
    Differences, Field, Grid, Identity, LinearOperator, ModelError, Opponent, OpponentScratch,
    SmoothedTv, Variational, VariationalScratch, Weights, Window,
};
use lowlevel::adjoint::MixedBound;
use lowlevel::{Curvature, StronglyConvex, UNIT_ROUNDOFF, norm};

use super::tv::TvDerivatives;
use super::{Choice, FamilyKind, FilterDenoising, FilterSet, ImageData, TvChoices, TvDenoising};
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;

/// A family for pictures in colour: a family for their luminance, a real picture, and one for their
/// chroma, a complex picture, see [`Opponent`].
///
/// The parameters of the two families get the suffixes `_luminance` and `_chroma`, except for those
/// that both share.
///
/// ```
/// use bilevel::{ColourFamily, LearningProblem, Pair, Setup, TvChoices};
/// use imaging::{Grid, Seed, noise, phantom};
///
/// let truth = phantom::dead_leaves_in_colour(16, 16, Seed::new(1), 0)?;
/// let data = noise::gaussian(&truth, 0.1, Seed::new(1), 0)?;
/// let pairs = vec![Pair { grid: Grid::image(16, 16).colour(), truth, data }];
/// let TvChoices { alpha, nu, xi } = TvChoices::default();
/// let family = ColourFamily::tv([alpha, alpha], nu, xi);
/// let learned = LearningProblem::new(family, pairs, Setup::default())?.learn()?;
/// let [luminance, chroma] = ["alpha_luminance", "alpha_chroma"].map(|name| learned.value(name));
/// assert!(chroma > luminance); // colours vary less, and are smoothed more
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ColourFamily<L, C> {
    luminance: L,
    chroma: C,
    parameters: Vec<Parameter>,
    /// For each entry of the values of the family of luminance and of that of chroma, its position
    /// among the values of this family.
    positions: [Vec<usize>; 2],
}

/// The family of denoising problems for pictures in colour, with the objective
/// `$\frac12\|x - y\|^2 + \alpha_L\operatorname{TV}_\nu(z_1) +
/// \alpha_C\operatorname{TV}_\nu(z_2 + iz_3) + \frac{\xi}{2}\|x\|^2$`, where `$z$` are the
/// [luminance and chroma](imaging::colour) of `$x$`.
pub type ColourTv = ColourFamily<TvDenoising, TvChroma>;

/// The family of denoising problems for pictures in colour with one filter bank for luminance and
/// one for chroma.
pub type ColourFilters = ColourFamily<FilterDenoising, FilterDenoising>;

impl ColourTv {
    /// Creates the family, with the choices for the weights of the total variation of luminance and
    /// of chroma, for `$\nu$` and for `$\xi$`.
    #[must_use]
    pub fn tv([luminance, chroma]: [Choice; 2], nu: Choice, xi: Choice) -> Self {
        let choices = |alpha| TvChoices { alpha, nu, xi };
        Self::new(
            TvDenoising {
                choices: choices(luminance),
            },
            TvChroma {
                choices: choices(chroma),
            },
            &["nu", "xi"],
        )
    }
}

impl ColourFilters {
    /// Creates the family with its default start.
    ///
    /// # Errors
    /// If the size of the filters is not 3, 5 or 7.
    pub fn filters(set: FilterSet) -> Result<Self, ModelError> {
        let family = || FilterDenoising::new(set);
        Ok(Self::new(family()?, family()?, &[]))
    }
}

impl<L: LowerLevel, C: LowerLevel> ColourFamily<L, C> {
    /// Creates the family. The `shared` parameters, which both families must have with the same
    /// shape, have the same values for luminance and chroma.
    #[must_use]
    pub fn new(luminance: L, chroma: C, shared: &[&str]) -> Self {
        let mut lists = [luminance.parameters(), chroma.parameters()];
        lists.iter_mut().for_each(|list| list.reverse());
        let [mut first, mut second] = lists;
        let mut parameters = Vec::new();
        let mut positions = [Vec::new(), Vec::new()];
        let mut num_entries = 0;
        let mut push = |parameter: Parameter, suffix: &str, of: &[usize]| {
            let end = num_entries + parameter.num_entries();
            for &family in of {
                positions[family].extend(num_entries..end);
            }
            num_entries = end;
            let name = format!("{}{suffix}", parameter.name);
            parameters.push(Parameter { name, ..parameter });
        };
        // Both lists follow the same order, but parameters that are fixed are missing.
        while let Some(next) = first.last().or(second.last()).map(|p| p.name.clone()) {
            let is_next = |p: &Parameter| p.name == next;
            let is_later = second.iter().any(is_next) && !second.last().is_some_and(is_next);
            let (of_luminance, of_chroma) = if is_later {
                (None, second.pop())
            } else {
                let of_chroma = second.pop_if(|p| p.name == next);
                (first.pop_if(|p| p.name == next), of_chroma)
            };
            match (of_luminance, of_chroma) {
                (Some(parameter), Some(_)) if shared.contains(&&parameter.name[..]) => {
                    push(parameter, "", &[0, 1]);
                }
                (of_luminance, of_chroma) => {
                    for (parameter, suffix, of) in
                        [(of_luminance, "_luminance", 0), (of_chroma, "_chroma", 1)]
                    {
                        if let Some(parameter) = parameter {
                            push(parameter, suffix, &[of]);
                        }
                    }
                }
            }
        }
        Self {
            luminance,
            chroma,
            parameters,
            positions,
        }
    }

    /// The family of the luminance.
    #[must_use]
    pub const fn luminance(&self) -> &L {
        &self.luminance
    }

    /// The family of the chroma.
    #[must_use]
    pub const fn chroma(&self) -> &C {
        &self.chroma
    }

    /// Returns the values of the parameters of the family of luminance and of that of chroma.
    ///
    /// # Panics
    /// When there are fewer values than parameters.
    #[must_use]
    pub fn parts(&self, values: &[f64]) -> [Vec<f64>; 2] {
        let part = |positions: &Vec<usize>| positions.iter().map(|&at| values[at]).collect();
        self.positions.each_ref().map(part)
    }
}

impl<L: LowerLevel, C: LowerLevel> LowerLevel for ColourFamily<L, C> {
    type Data = (L::Data, C::Data);
    type Scratch = OpponentScratch<L::Scratch, C::Scratch>;
    type Objective<'a>
        = Opponent<L::Objective<'a>, C::Objective<'a>>
    where
        Self: 'a;

    fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<Self::Data, BoxError> {
        if grid.field() != Field::Colour {
            return Err(Box::new(ModelError::WrongGrid {
                name: "the grid of an image",
                needed: "a grid of colours, because the family is for pictures in colour",
            }));
        }
        if data.len() != grid.len() {
            return Err(Box::new(ModelError::WrongLength {
                name: "data",
                expected: grid.len(),
                found: data.len(),
            }));
        }
        // both families see NaN where a channel was not measured
        let may_be_nan = self.takes_missing();
        let is_bad = |value: &f64| !(value.is_finite() || may_be_nan && value.is_nan());
        if let Some(index) = data.iter().position(is_bad) {
            return Err(Box::new(ModelError::NonFinite {
                name: "data",
                index,
            }));
        }
        let [luminance, chroma] = to_opponent_parts(data);
        Ok((
            self.luminance.prepare(grid.real(), &luminance)?,
            self.chroma.prepare(grid.complex(), &chroma)?,
        ))
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        (luminance, chroma): &'a Self::Data,
    ) -> Result<Self::Objective<'a>, BoxError> {
        let [of_luminance, of_chroma] = self.parts(values);
        Ok(Opponent::new(
            self.luminance.objective(&of_luminance, luminance)?,
            self.chroma.objective(&of_chroma, chroma)?,
        )?)
    }

    fn cold_start(&self, (luminance, chroma): &Self::Data, x: &mut [f64]) {
        let num_samples = x.len() / 3;
        let mut parts = [vec![0.0; num_samples], vec![0.0; 2 * num_samples]];
        self.luminance.cold_start(luminance, &mut parts[0]);
        self.chroma.cold_start(chroma, &mut parts[1]);
        from_opponent_parts(&parts[0], &parts[1], x);
    }

    fn derivatives<'a, 'b>(
        &'a self,
        values: &'a [f64],
        objective: &'a Self::Objective<'b>,
    ) -> Option<Box<dyn Derivatives<Self::Scratch> + 'a>>
    where
        Self: 'b,
    {
        let [of_luminance, of_chroma] = self.parts(values);
        let (luminance, chroma) = (objective.luminance(), objective.chroma());
        self.luminance.derivatives(&of_luminance, luminance)?;
        self.chroma.derivatives(&of_chroma, chroma)?;
        let curvatures = [luminance.curvature(), chroma.curvature()];
        Some(Box::new(ColourDerivatives {
            positions: &self.positions,
            curvatures,
            luminance: Box::new(move |visit| {
                let derivatives = self.luminance.derivatives(&of_luminance, luminance);
                visit(&*derivatives.expect("it had derivatives"));
            }),
            chroma: Box::new(move |visit| {
                let derivatives = self.chroma.derivatives(&of_chroma, chroma);
                visit(&*derivatives.expect("it had derivatives"));
            }),
        }))
    }

    fn window(&self, grid: Grid) -> Window {
        let window = self.luminance.window(grid.real());
        let (row, col) = window.origin();
        let outer = window.outer().colour();
        // the parts of a grid of colours have the same windows
        Window::new(outer, grid, row, col).unwrap_or_else(|_| Window::whole(grid))
    }

    fn takes_missing(&self) -> bool {
        self.luminance.takes_missing() && self.chroma.takes_missing()
    }

    fn is_serial(&self) -> bool {
        self.luminance.is_serial() || self.chroma.is_serial()
    }

    fn kind(&self) -> Option<FamilyKind> {
        self.luminance.kind()
    }
}

/// A function that passes the derivatives of a family on. They cannot be stored, because they
/// borrow the values of its parameters, which are part of this function.
type Visit<'a, S> = Box<dyn Fn(&mut dyn FnMut(&dyn Derivatives<S>)) + 'a>;

/// The derivatives with respect to the parameters of luminance and chroma.
struct ColourDerivatives<'a, L, C> {
    positions: &'a [Vec<usize>; 2],
    curvatures: [Curvature; 2],
    luminance: Visit<'a, L>,
    chroma: Visit<'a, C>,
}

impl<L, C> ColourDerivatives<'_, L, C> {
    /// Returns memory for the numbers of the parameters of luminance and of chroma.
    fn memory<T: Copy>(&self, zero: T) -> [Vec<T>; 2] {
        let list = |positions: &Vec<usize>| vec![zero; positions.len()];
        self.positions.each_ref().map(list)
    }

    /// Combines numbers for the parameters of luminance and of chroma into numbers for all.
    fn combine<T: Copy>(&self, parts: &[Vec<T>; 2], out: &mut [T], zero: T, add: fn(T, T) -> T) {
        out.fill(zero);
        for (positions, part) in self.positions.iter().zip(parts) {
            for (&at, &number) in positions.iter().zip(part) {
                out[at] = add(out[at], number);
            }
        }
    }
}

impl<L, C> Derivatives<OpponentScratch<L, C>> for ColourDerivatives<'_, L, C> {
    fn mixed_product(
        &self,
        x: &[f64],
        q: &[f64],
        out: &mut [f64],
        scratch: &mut OpponentScratch<L, C>,
    ) {
        let mut products = self.memory(0.0);
        let parts = scratch.parts(x, q);
        let (x, q) = (parts.x, parts.q);
        (self.luminance)(&mut |of| of.mixed_product(x[0], q[0], &mut products[0], parts.luminance));
        (self.chroma)(&mut |of| of.mixed_product(x[1], q[1], &mut products[1], parts.chroma));
        self.combine(&products, out, 0.0, |a, b| a + b);
    }

    /// Of every pixel, the luminance is one number and the chroma two.
    fn cost(&self) -> f64 {
        let mut cost = 0.0;
        (self.luminance)(&mut |of| cost += of.cost() / 3.0);
        (self.chroma)(&mut |of| cost += 2.0 * of.cost() / 3.0);
        cost
    }

    /// Neither part of a change is longer than the whole, so the bounds of the parts hold with the
    /// same radius. The parts of a mixed derivative are orthogonal. Those of `q` have a rounding
    /// error of `$8u\|q\|$`.
    fn mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        scratch: &mut OpponentScratch<L, C>,
    ) -> bool {
        let mut bounds = self.memory(MixedBound::UNKNOWN);
        let lost = 16.0 * UNIT_ROUNDOFF * norm(q);
        let parts = scratch.parts(x, q);
        let (x, q) = (parts.x, parts.q);
        let mut are_known = true;
        (self.luminance)(&mut |of| {
            are_known &= of.mixed_bounds(x[0], q[0], error, &mut bounds[0], parts.luminance);
        });
        (self.chroma)(&mut |of| {
            are_known &= of.mixed_bounds(x[1], q[1], error, &mut bounds[1], parts.chroma);
        });
        let zero = MixedBound {
            change: 0.0,
            norm: 0.0,
        };
        self.combine(&bounds, out, zero, |a, b| {
            let up = 1.0 + 4.0 * UNIT_ROUNDOFF;
            MixedBound::new(up * (a.change + b.change), up * a.norm.hypot(b.norm))
        });
        for bound in out {
            *bound = MixedBound::new(bound.change + lost * bound.norm, bound.norm);
        }
        are_known
    }

    /// The condition number is that of one of the two models if the larger `$L$` and the smaller
    /// `$\mu$` are both its own.
    fn condition_gradient(&self, out: &mut [f64]) -> bool {
        let is_worse = |a: Curvature, b: Curvature| {
            a.lipschitz() >= b.lipschitz() && a.strong_convexity() <= b.strong_convexity()
        };
        let [luminance, chroma] = self.curvatures;
        let mut slopes = self.memory(0.0);
        let mut is_known = false;
        if is_worse(luminance, chroma) {
            (self.luminance)(&mut |of| is_known = of.condition_gradient(&mut slopes[0]));
        } else if is_worse(chroma, luminance) {
            (self.chroma)(&mut |of| is_known = of.condition_gradient(&mut slopes[1]));
        }
        self.combine(&slopes, out, 0.0, |a, b| a + b);
        is_known
    }
}

/// The family of denoising problems for the chroma of pictures, or for other complex pictures, with
/// the objective
/// `$\frac12\|x - y\|^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TvChroma {
    /// The parameters that are learned and those that are fixed.
    pub choices: TvChoices,
}

impl LowerLevel for TvChroma {
    type Data = ImageData;
    type Scratch = VariationalScratch<<Identity as LinearOperator>::Scratch>;
    type Objective<'a> = Variational<'a, Identity, SmoothedTv>;

    fn parameters(&self) -> Vec<Parameter> {
        self.choices.parameters()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<ImageData, BoxError> {
        ImageData::new(grid, data)
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a ImageData,
    ) -> Result<Self::Objective<'a>, BoxError> {
        Ok(Variational::tv(
            Identity::new(data.grid),
            &data.values,
            Weights::Uniform,
            Differences::of_paper(data.grid),
            self.choices.at(values),
        )?)
    }

    /// Starts at the data.
    fn cold_start(&self, data: &ImageData, x: &mut [f64]) {
        x.copy_from_slice(data.values.values());
    }

    fn derivatives<'a, 'b>(
        &'a self,
        _values: &'a [f64],
        objective: &'a Self::Objective<'b>,
    ) -> Option<Box<dyn Derivatives<Self::Scratch> + 'a>>
    where
        Self: 'b,
    {
        Some(Box::new(TvDerivatives {
            choices: self.choices,
            objective,
        }))
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Denoise)
    }
}
