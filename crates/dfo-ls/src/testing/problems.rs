//! The 53 combinations of function, size and start.

use super::function::Function;

#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    pub(super) function: Function,
    pub(super) num_params: usize,
    pub(super) num_residuals: usize,
    /// Of the standard start: 1 or 10.
    pub(super) start_factor: f64,
    pub(super) best_known: f64,
}

impl Problem {
    /// From the standard start.
    const fn near(
        function: Function,
        num_params: usize,
        num_residuals: usize,
        best_known: f64,
    ) -> Self {
        Self {
            function,
            num_params,
            num_residuals,
            start_factor: 1.0,
            best_known,
        }
    }

    /// From ten times the standard start.
    const fn far(
        function: Function,
        num_params: usize,
        num_residuals: usize,
        best_known: f64,
    ) -> Self {
        Self {
            start_factor: 10.0,
            ..Self::near(function, num_params, num_residuals, best_known)
        }
    }
}

/// In the order of Moré and Wild: function, number of parameters, number of residuals, best known
/// value.
pub(super) static PROBLEMS: [Problem; 53] = [
    Problem::near(Function::LinearFullRank, 9, 45, 35.99999999999996),
    Problem::far(Function::LinearFullRank, 9, 45, 35.99999999999996),
    Problem::near(Function::LinearRank1, 7, 35, 8.380281690140842),
    Problem::far(Function::LinearRank1, 7, 35, 8.380281690140842),
    Problem::near(Function::LinearRank1Zero, 7, 35, 9.880597014925371),
    Problem::far(Function::LinearRank1Zero, 7, 35, 9.880597014925371),
    Problem::near(Function::Rosenbrock, 2, 2, 0.0),
    Problem::far(Function::Rosenbrock, 2, 2, 0.0),
    Problem::near(Function::HelicalValley, 3, 3, 4.189901183185697e-53),
    Problem::far(Function::HelicalValley, 3, 3, 7.4912468664379115e-50),
    Problem::near(Function::PowellSingular, 4, 4, 5.399903990387526e-62),
    Problem::far(Function::PowellSingular, 4, 4, 5.82047151990093e-60),
    Problem::near(Function::FreudensteinRoth, 2, 2, 48.984253679239984),
    Problem::far(Function::FreudensteinRoth, 2, 2, 8.123254150746298e-23),
    Problem::near(Function::Bard, 3, 15, 0.00821487730657896),
    Problem::far(Function::Bard, 3, 15, 0.008214877306578952),
    Problem::near(Function::KowalikOsborne, 4, 11, 0.0003075056038492367),
    Problem::near(Function::Meyer, 3, 16, 226.22641126163364),
    Problem::near(Function::Watson, 6, 31, 0.0022876700535523205),
    Problem::far(Function::Watson, 6, 31, 0.002287670053552313),
    Problem::near(Function::Watson, 9, 31, 1.3997601380933171e-6),
    Problem::far(Function::Watson, 9, 31, 1.3997601380923263e-6),
    Problem::near(Function::Watson, 12, 31, 4.722381103547557e-10),
    Problem::far(Function::Watson, 12, 31, 4.722381108166886e-10),
    Problem::near(Function::Box3d, 3, 10, 4.0059342843254506e-32),
    Problem::near(Function::JennrichSampson, 2, 10, 124.3621823556148),
    Problem::near(Function::BrownDennis, 4, 20, 85822.20162635625),
    Problem::far(Function::BrownDennis, 4, 20, 85822.20162635625),
    Problem::near(Function::Chebyquad, 6, 6, 5.966236728414598e-32),
    Problem::near(Function::Chebyquad, 7, 7, 2.016627979434074e-31),
    Problem::near(Function::Chebyquad, 8, 8, 0.0035168737256779225),
    Problem::near(Function::Chebyquad, 9, 9, 2.9069802309506015e-32),
    Problem::near(Function::Chebyquad, 10, 10, 0.004772713696375356),
    Problem::near(Function::Chebyquad, 11, 11, 0.00279976155186576),
    Problem::near(Function::BrownAlmostLinear, 10, 10, 2.822642926493933e-30),
    Problem::near(Function::Osborne1, 5, 33, 5.464894697483433e-5),
    Problem::near(Function::Osborne2, 11, 65, 0.040137736293547714),
    Problem::far(Function::Osborne2, 11, 65, 1.7898135868810932),
    Problem::near(Function::Bdqrtic, 8, 8, 10.238973421317434),
    Problem::near(Function::Bdqrtic, 10, 12, 18.281161753593533),
    Problem::near(Function::Bdqrtic, 11, 14, 22.260591734883754),
    Problem::near(Function::Bdqrtic, 12, 16, 26.272766396793962),
    Problem::near(Function::Cube, 5, 5, 0.0),
    Problem::near(Function::Cube, 6, 6, 0.0),
    Problem::near(Function::Cube, 8, 8, 6.6243908125384475e-9),
    Problem::near(Function::Mancino, 5, 5, 2.6823673963376067e-22),
    Problem::far(Function::Mancino, 5, 5, 2.6823673963376067e-22),
    Problem::near(Function::Mancino, 8, 8, 4.0527649488550235e-22),
    Problem::near(Function::Mancino, 10, 10, 2.0024152392962146e-22),
    Problem::near(Function::Mancino, 12, 12, 1.302954867613069e-22),
    Problem::far(Function::Mancino, 12, 12, 1.302954867613069e-22),
    Problem::near(Function::Heart8ls, 8, 8, 4.439268521812579e-31),
    Problem::far(Function::Heart8ls, 8, 8, 6.606902674220413e-30),
];
