//! The plane in which a step is rotated on the sphere.

use super::TruncatedSearch;
use super::rotation::{CircleQuadratic, Rotation};
use crate::linalg::dot;

/// The plane spanned by the step and the steepest tangent, both restricted to the free variables.
pub(super) struct RotationPlane {
    step: Vec<f64>,
    square: f64,
    step_image: Vec<f64>,
    pub(super) tangent: Vec<f64>,
    tangent_image: Vec<f64>,
    /// The product `$q_F^\top d_F$`.
    pub(super) along: f64,
    /// The descent `$-q_F^\top s$` along the tangent `$s$`, which is as long as the step.
    pub(super) descent: f64,
}

impl RotationPlane {
    pub(super) fn new(search: &TruncatedSearch<'_>) -> Self {
        let step = search.free_part(&search.step);
        Self {
            square: dot(&step, &step),
            step_image: search.image(&step),
            tangent: Vec::new(),
            tangent_image: Vec::new(),
            along: 0.0,
            descent: 0.0,
            step,
        }
    }

    /// Computes the steepest tangent at the step.
    pub(super) fn turn_to(&mut self, search: &TruncatedSearch<'_>) {
        let slopes = search.free_part(&search.slopes);
        self.along = dot(&slopes, &self.step);
        let square = dot(&slopes, &slopes) * self.square - self.along * self.along;
        self.descent = square.max(0.0).sqrt();
        self.tangent = (self.step.iter().zip(&slopes))
            .map(|(d, q)| (self.along * d - self.square * q) / self.descent)
            .collect();
    }

    /// The quadratic on the circle through the step and the tangent.
    pub(super) fn curve(&mut self, search: &TruncatedSearch<'_>) -> CircleQuadratic {
        self.tangent_image = search.image(&self.tangent);
        CircleQuadratic {
            along: self.along,
            descent: self.descent,
            tangent: dot(&self.tangent, &self.tangent_image),
            mixed: dot(&self.step, &self.tangent_image),
            step: dot(&self.step, &self.step_image),
        }
    }

    /// Applies a rotation to the step.
    pub(super) fn rotate(&mut self, search: &mut TruncatedSearch<'_>, by: &Rotation) {
        for i in 0..self.step.len() {
            let image = by.cosine * self.step_image[i] + by.sine * self.tangent_image[i];
            search.slopes[i] += image - self.step_image[i];
            self.step_image[i] = image;
            if search.fixed[i].is_none() {
                self.step[i] = by.cosine * self.step[i] + by.sine * self.tangent[i];
                search.step[i] = self.step[i];
            }
        }
        search.decrease += by.gain;
    }
}
