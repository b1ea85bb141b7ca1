//! A family whose reconstructions are known in closed form.

use bilevel::{BoxError, LowerLevel, Parameter};
use imaging::Grid;
use lowlevel::{Curvature, StronglyConvex};

/// The family `$\frac12\|x - y\|^2 + \frac{ab}{2}\|x\|^2$`, for which `$\hat x = y/(1 + ab)$`. It
/// reports a condition number of ten times the number of samples.
#[derive(Clone)]
pub(crate) struct Ridge {
    pub(crate) parameters: Vec<Parameter>,
    /// The length of data that are refused, and the weight above which they are.
    pub(crate) moody: Option<(usize, f64)>,
    /// The number of entries by which the objective is too long.
    pub(crate) surplus: usize,
}

pub(crate) struct RidgeObjective<'a> {
    data: &'a [f64],
    weight: f64,
    surplus: usize,
}

impl Ridge {
    pub(crate) fn new(parameters: Vec<Parameter>) -> Self {
        Self {
            parameters,
            moody: None,
            surplus: 0,
        }
    }

    /// Creates the family with one parameter.
    pub(crate) fn simple() -> Self {
        Self::new(vec![Parameter::log10("a", -1.0, -4.0, 1.0)])
    }
}

impl LowerLevel for Ridge {
    type Data = Vec<f64>;
    type Scratch = ();
    type Objective<'a> = RidgeObjective<'a>;

    fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }

    fn prepare(&self, _: Grid, data: &[f64]) -> Result<Vec<f64>, BoxError> {
        Ok(data.to_vec())
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a Vec<f64>,
    ) -> Result<RidgeObjective<'a>, BoxError> {
        let weight = values.iter().product();
        let surplus = self.surplus;
        match self.moody {
            Some((len, most)) if data.len() == len && weight > most => Err("too much".into()),
            _ => Ok(RidgeObjective {
                data,
                weight,
                surplus,
            }),
        }
    }

    fn cold_start(&self, data: &Vec<f64>, x: &mut [f64]) {
        x.copy_from_slice(data);
    }
}

impl StronglyConvex for RidgeObjective<'_> {
    type Scratch = ();
    fn dim(&self) -> usize {
        self.data.len() + self.surplus
    }
    fn curvature(&self) -> Curvature {
        let len = self.data.len() as f64;
        Curvature::new(1.0 + self.weight, (1.0 + self.weight) * 10.0 * len).expect("positive")
    }
    fn scratch(&self) {}
    fn gradient(&self, x: &[f64], gradient: &mut [f64], (): &mut ()) {
        for ((g, x), y) in gradient.iter_mut().zip(x).zip(self.data) {
            *g = x - y + self.weight * x;
        }
    }
    fn value(&self, x: &[f64], (): &mut ()) -> f64 {
        let terms = x.iter().zip(self.data);
        terms
            .map(|(x, y)| 0.5 * (x - y).powi(2) + 0.5 * self.weight * x * x)
            .sum()
    }
}
