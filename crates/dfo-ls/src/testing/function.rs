//! The 22 functions, each with its name, its standard start and its residuals.

use super::{as_f64, counting, equations, fits, linear};

/// A function of Moré and Wild. The variants are in the order of their numbers there.
#[derive(Clone, Copy, Debug)]
pub(super) enum TestFunction {
    LinearFullRank,
    LinearRank1,
    LinearRank1Zero,
    Rosenbrock,
    HelicalValley,
    PowellSingular,
    FreudensteinRoth,
    Bard,
    KowalikOsborne,
    Meyer,
    Watson,
    Box3d,
    JennrichSampson,
    BrownDennis,
    Chebyquad,
    BrownAlmostLinear,
    Osborne1,
    Osborne2,
    Bdqrtic,
    Cube,
    Mancino,
    Heart8ls,
}

impl TestFunction {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::LinearFullRank => "linear_full_rank",
            Self::LinearRank1 => "linear_rank1",
            Self::LinearRank1Zero => "linear_rank1_zero",
            Self::Rosenbrock => "rosenbrock",
            Self::HelicalValley => "helical_valley",
            Self::PowellSingular => "powell_singular",
            Self::FreudensteinRoth => "freudenstein_roth",
            Self::Bard => "bard",
            Self::KowalikOsborne => "kowalik_osborne",
            Self::Meyer => "meyer",
            Self::Watson => "watson",
            Self::Box3d => "box3d",
            Self::JennrichSampson => "jennrich_sampson",
            Self::BrownDennis => "brown_dennis",
            Self::Chebyquad => "chebyquad",
            Self::BrownAlmostLinear => "brown_almost_linear",
            Self::Osborne1 => "osborne1",
            Self::Osborne2 => "osborne2",
            Self::Bdqrtic => "bdqrtic",
            Self::Cube => "cube",
            Self::Mancino => "mancino",
            Self::Heart8ls => "heart8ls",
        }
    }

    /// The standard start, without the factor 10 of far starts.
    pub(super) fn start(self, num_params: usize) -> Vec<f64> {
        match self {
            Self::LinearFullRank
            | Self::LinearRank1
            | Self::LinearRank1Zero
            | Self::Bard
            | Self::Bdqrtic => vec![1.0; num_params],
            Self::Rosenbrock => vec![-1.2, 1.0],
            Self::HelicalValley => vec![-1.0, 0.0, 0.0],
            Self::PowellSingular => vec![3.0, -1.0, 0.0, 1.0],
            Self::FreudensteinRoth => vec![0.5, -2.0],
            Self::KowalikOsborne => vec![0.25, 0.39, 0.415, 0.39],
            Self::Meyer => vec![0.02, 4000.0, 250.0],
            // MGH start at 0.
            Self::Watson => vec![0.5; num_params],
            Self::Box3d => vec![0.0, 10.0, 20.0],
            Self::JennrichSampson => vec![0.3, 0.4],
            Self::BrownDennis => vec![25.0, 5.0, -5.0, -1.0],
            Self::Chebyquad => {
                let intervals = as_f64(num_params) + 1.0;
                counting().take(num_params).map(|j| j / intervals).collect()
            }
            Self::BrownAlmostLinear | Self::Cube => vec![0.5; num_params],
            // MGH start with -1 in the third place.
            Self::Osborne1 => vec![0.5, 1.5, 1.0, 0.01, 0.02],
            Self::Osborne2 => vec![1.3, 0.65, 0.65, 0.7, 0.6, 3.0, 5.0, 7.0, 2.0, 4.5, 5.5],
            Self::Mancino => equations::mancino_start(num_params),
            Self::Heart8ls => vec![-0.3, -0.39, 0.3, -0.344, -1.2, 2.69, 1.59, -1.5],
        }
    }

    /// Overwrites `out` with the residuals. The lengths must be right.
    pub(super) fn residuals(self, theta: &[f64], out: &mut [f64]) {
        match self {
            Self::LinearFullRank => linear::full_rank(theta, out),
            Self::LinearRank1 => linear::rank_one(theta, out),
            Self::LinearRank1Zero => linear::rank_one_with_zeros(theta, out),
            Self::Rosenbrock => equations::rosenbrock(theta, out),
            Self::HelicalValley => equations::helical_valley(theta, out),
            Self::PowellSingular => equations::powell_singular(theta, out),
            Self::FreudensteinRoth => equations::freudenstein_roth(theta, out),
            Self::Bard => fits::bard(theta, out),
            Self::KowalikOsborne => fits::kowalik_osborne(theta, out),
            Self::Meyer => fits::meyer(theta, out),
            Self::Watson => equations::watson(theta, out),
            Self::Box3d => fits::box3d(theta, out),
            Self::JennrichSampson => fits::jennrich_sampson(theta, out),
            Self::BrownDennis => fits::brown_dennis(theta, out),
            Self::Chebyquad => equations::chebyquad(theta, out),
            Self::BrownAlmostLinear => equations::brown_almost_linear(theta, out),
            Self::Osborne1 => fits::osborne1(theta, out),
            Self::Osborne2 => fits::osborne2(theta, out),
            Self::Bdqrtic => equations::bdqrtic(theta, out),
            Self::Cube => equations::cube(theta, out),
            Self::Mancino => equations::mancino(theta, out),
            Self::Heart8ls => equations::heart8ls(theta, out),
        }
    }
}
