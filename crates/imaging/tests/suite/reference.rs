//! A slow, independent solver: the dense primal-dual Newton method (Chan, Golub & Mulet 1999) in
//! double-double arithmetic.
//!
//! It does not use the operators and kernels of the crate. Its answer is certified by its own
//! gradient, evaluated with 32 digits, so that it can check bounds where `alpha/nu` is 1e14.

mod double_double;
pub(crate) mod operators;

pub(crate) use double_double::Dd;

/// `$\frac12 x^T Q x - b^T x + \alpha \sum_j \sqrt{\|D_j x\|^2 + \nu^2}$`.
#[derive(Debug)]
pub(crate) struct Dense {
    /// Row by row.
    pub(crate) matrix: Vec<Dd>,
    pub(crate) linear: Vec<Dd>,
    /// Each `$D_j$` as rows of (index, sign).
    pub(crate) groups: Vec<Vec<Vec<(usize, f64)>>>,
    pub(crate) alpha: f64,
    pub(crate) nu: f64,
    pub(crate) strong_convexity: f64,
}

/// An approximate minimiser, and a bound on its error.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) x: Vec<Dd>,
    pub(crate) error: f64,
}

impl Reference {
    pub(crate) fn distance(&self, x: &[f64]) -> f64 {
        self.distance_to(&x.iter().map(|&x| Dd::from(x)).collect::<Vec<_>>())
    }

    pub(crate) fn distance_to(&self, x: &[Dd]) -> f64 {
        let difference = self.x.iter().zip(x).map(|(&a, &b)| a - b);
        norm(&difference.collect::<Vec<_>>())
    }
}

fn norm(x: &[Dd]) -> f64 {
    let largest = x.iter().fold(0.0_f64, |a, x| a.max(x.to_f64().abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let scaled: f64 = x.iter().map(|x| (x.to_f64() / largest).powi(2)).sum();
    largest * scaled.sqrt()
}

impl Dense {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn difference(row: &[(usize, f64)], x: &[Dd]) -> Dd {
        row.iter()
            .fold(Dd::default(), |sum, &(j, sign)| sum + x[j] * Dd::from(sign))
    }

    /// `$D_j x$` and `$\sigma_j$` for each group.
    fn differences(&self, x: &[Dd]) -> Vec<(Vec<Dd>, Dd)> {
        let nu = Dd::from(self.nu);
        self.groups
            .iter()
            .map(|rows| {
                let d: Vec<Dd> = rows.iter().map(|row| Self::difference(row, x)).collect();
                let squares = d.iter().fold(nu * nu, |sum, &d| sum + d * d);
                (d, squares.sqrt())
            })
            .collect()
    }

    fn gradient(&self, x: &[Dd], differences: &[(Vec<Dd>, Dd)]) -> Vec<Dd> {
        let dim = self.dim();
        let mut gradient: Vec<Dd> = (0..dim)
            .map(|i| {
                let row = &self.matrix[i * dim..(i + 1) * dim];
                row.iter()
                    .zip(x)
                    .fold(-self.linear[i], |sum, (&q, &x)| sum + q * x)
            })
            .collect();
        for (rows, (d, sigma)) in self.groups.iter().zip(differences) {
            for (row, &d) in rows.iter().zip(d) {
                let flux = Dd::from(self.alpha) * d / *sigma;
                for &(j, sign) in row {
                    gradient[j] += flux * Dd::from(sign);
                }
            }
        }
        gradient
    }

    /// The distance of `gradient` from the exact gradient at `x`.
    pub(crate) fn gradient_error(&self, x: &[f64], gradient: &[f64]) -> f64 {
        let x: Vec<Dd> = x.iter().map(|&x| Dd::from(x)).collect();
        let mut error = self.gradient(&x, &self.differences(&x));
        for (error, &gradient) in error.iter_mut().zip(gradient) {
            *error -= Dd::from(gradient);
        }
        norm(&error)
    }

    /// Iterates until the certified error is at most `target`, or no longer improves.
    pub(crate) fn solve(&self, target: f64) -> Reference {
        let mut x = self.linear.clone();
        let mut dual: Vec<Vec<Dd>> = self
            .groups
            .iter()
            .map(|rows| vec![Dd::default(); rows.len()])
            .collect();
        let mut best = Reference {
            x: x.clone(),
            error: f64::INFINITY,
        };
        for _ in 0..200 {
            let differences = self.differences(&x);
            let gradient = self.gradient(&x, &differences);
            let error = norm(&gradient) / self.strong_convexity;
            if error < best.error {
                best = Reference {
                    x: x.clone(),
                    error,
                };
            }
            if error <= target {
                break;
            }
            let step = solve_spd(self.hessian(&differences, &dual), gradient.clone());
            let step = self.shorten(&x, &gradient, step);
            self.update_dual(&differences, &step, &mut dual);
            for (x, step) in x.iter_mut().zip(&step) {
                *x -= *step;
            }
        }
        best
    }

    fn value(&self, x: &[Dd]) -> Dd {
        let dim = self.dim();
        let mut value = Dd::default();
        for i in 0..dim {
            let row = &self.matrix[i * dim..(i + 1) * dim];
            let product = row
                .iter()
                .zip(x)
                .fold(Dd::default(), |sum, (&q, &x)| sum + q * x);
            value += x[i] * (product * Dd::from(0.5) - self.linear[i]);
        }
        for (_, sigma) in self.differences(x) {
            value += Dd::from(self.alpha) * sigma;
        }
        value
    }

    /// Halves a step until it decreases the value enough. Returns the whole step if no part of it
    /// does, because rounding hides the decrease.
    fn shorten(&self, x: &[Dd], gradient: &[Dd], mut step: Vec<Dd>) -> Vec<Dd> {
        let whole = step.clone();
        let here = self.value(x);
        for _ in 0..60 {
            let next: Vec<Dd> = x.iter().zip(&step).map(|(&x, &s)| x - s).collect();
            let slope = gradient
                .iter()
                .zip(&step)
                .fold(Dd::default(), |sum, (&g, &s)| sum + g * s);
            let decrease = here - self.value(&next);
            if (decrease - slope * Dd::from(1e-4)).to_f64() >= 0.0 {
                return step;
            }
            for s in &mut step {
                *s = *s * Dd::from(0.5);
            }
        }
        whole
    }

    /// `$Q + \alpha \sum_j D_j^T \frac{1}{\sigma_j}(I - \frac{w_j d_j^T + d_j w_j^T}{2\sigma_j}) D_j$`.
    fn hessian(&self, differences: &[(Vec<Dd>, Dd)], dual: &[Vec<Dd>]) -> Vec<Dd> {
        let dim = self.dim();
        let mut hessian = self.matrix.clone();
        for ((rows, (d, sigma)), w) in self.groups.iter().zip(differences).zip(dual) {
            let scale = Dd::from(self.alpha) / *sigma;
            for (a, row_a) in rows.iter().enumerate() {
                for (b, row_b) in rows.iter().enumerate() {
                    let cross = (w[a] * d[b] + d[a] * w[b]) * Dd::from(0.5) / *sigma;
                    let unit = Dd::from(if a == b { 1.0 } else { 0.0 });
                    let weight = scale * (unit - cross);
                    for &(i, sign_i) in row_a {
                        for &(j, sign_j) in row_b {
                            hessian[i * dim + j] += weight * Dd::from(sign_i * sign_j);
                        }
                    }
                }
            }
        }
        hessian
    }

    /// `$w_j \leftarrow \frac{1}{\sigma_j}\bigl((I - w_j d_j^T/\sigma_j) D_j\delta + d_j\bigr)$`,
    /// shortened to length 1.
    fn update_dual(&self, differences: &[(Vec<Dd>, Dd)], step: &[Dd], dual: &mut [Vec<Dd>]) {
        for ((rows, (d, sigma)), w) in self.groups.iter().zip(differences).zip(dual) {
            let change: Vec<Dd> = rows
                .iter()
                .map(|row| -Self::difference(row, step))
                .collect();
            let along = d
                .iter()
                .zip(&change)
                .fold(Dd::default(), |sum, (&d, &c)| sum + d * c)
                / *sigma;
            for ((w, &d), &change) in w.iter_mut().zip(d).zip(&change) {
                *w = (change - *w * along + d) / *sigma;
            }
            let length = norm(w);
            if length > 1.0 {
                for w in w {
                    *w = *w / Dd::from(length);
                }
            }
        }
    }
}

/// Solves a symmetric positive definite system by `$LDL^T$`.
fn solve_spd(mut matrix: Vec<Dd>, mut right: Vec<Dd>) -> Vec<Dd> {
    let dim = right.len();
    for k in 0..dim {
        let pivot = matrix[k * dim + k];
        for i in k + 1..dim {
            let factor = matrix[i * dim + k] / pivot;
            for j in k + 1..=i {
                let product = factor * matrix[j * dim + k];
                matrix[i * dim + j] -= product;
            }
            let product = factor * right[k];
            right[i] -= product;
        }
    }
    // Back substitution with the columns of L D, which are still below the diagonal.
    for k in (0..dim).rev() {
        for i in k + 1..dim {
            let product = matrix[i * dim + k] * right[i];
            right[k] -= product;
        }
        right[k] = right[k] / matrix[k * dim + k];
    }
    right
}
