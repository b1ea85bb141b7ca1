//! The 53 combinations of function, size and start.

use super::function::TestFunction;

#[derive(Clone, Copy, Debug)]
pub(super) struct TestProblem {
    pub(super) function: TestFunction,
    pub(super) num_params: usize,
    pub(super) num_residuals: usize,
    /// The multiple of the standard start, 1 or 10.
    pub(super) start_factor: f64,
    pub(super) best_known: f64,
}

impl TestProblem {
    /// A problem with the standard start.
    const fn near(
        function: TestFunction,
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

    /// A problem with ten times the standard start.
    const fn far(
        function: TestFunction,
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

/// The problems in the order of Moré and Wild: function, number of parameters, number of residuals,
/// best known value.
pub(super) static PROBLEMS: [TestProblem; 53] = [
    TestProblem::near(TestFunction::LinearFullRank, 9, 45, 35.99999999999996),
    TestProblem::far(TestFunction::LinearFullRank, 9, 45, 35.99999999999996),
    TestProblem::near(TestFunction::LinearRank1, 7, 35, 8.380281690140842),
    TestProblem::far(TestFunction::LinearRank1, 7, 35, 8.380281690140842),
    TestProblem::near(TestFunction::LinearRank1Zero, 7, 35, 9.880597014925371),
    TestProblem::far(TestFunction::LinearRank1Zero, 7, 35, 9.880597014925371),
    TestProblem::near(TestFunction::Rosenbrock, 2, 2, 0.0),
    TestProblem::far(TestFunction::Rosenbrock, 2, 2, 0.0),
    TestProblem::near(TestFunction::HelicalValley, 3, 3, 4.189901183185697e-53),
    TestProblem::far(TestFunction::HelicalValley, 3, 3, 7.4912468664379115e-50),
    TestProblem::near(TestFunction::PowellSingular, 4, 4, 5.399903990387526e-62),
    TestProblem::far(TestFunction::PowellSingular, 4, 4, 5.82047151990093e-60),
    TestProblem::near(TestFunction::FreudensteinRoth, 2, 2, 48.984253679239984),
    TestProblem::far(TestFunction::FreudensteinRoth, 2, 2, 8.123254150746298e-23),
    TestProblem::near(TestFunction::Bard, 3, 15, 0.00821487730657896),
    TestProblem::far(TestFunction::Bard, 3, 15, 0.008214877306578952),
    TestProblem::near(TestFunction::KowalikOsborne, 4, 11, 0.0003075056038492367),
    TestProblem::near(TestFunction::Meyer, 3, 16, 226.22641126163364),
    TestProblem::near(TestFunction::Watson, 6, 31, 0.0022876700535523205),
    TestProblem::far(TestFunction::Watson, 6, 31, 0.002287670053552313),
    TestProblem::near(TestFunction::Watson, 9, 31, 1.3997601380933171e-6),
    TestProblem::far(TestFunction::Watson, 9, 31, 1.3997601380923263e-6),
    TestProblem::near(TestFunction::Watson, 12, 31, 4.722381103547557e-10),
    TestProblem::far(TestFunction::Watson, 12, 31, 4.722381108166886e-10),
    TestProblem::near(TestFunction::Box3d, 3, 10, 4.0059342843254506e-32),
    TestProblem::near(TestFunction::JennrichSampson, 2, 10, 124.3621823556148),
    TestProblem::near(TestFunction::BrownDennis, 4, 20, 85822.20162635625),
    TestProblem::far(TestFunction::BrownDennis, 4, 20, 85822.20162635625),
    TestProblem::near(TestFunction::Chebyquad, 6, 6, 5.966236728414598e-32),
    TestProblem::near(TestFunction::Chebyquad, 7, 7, 2.016627979434074e-31),
    TestProblem::near(TestFunction::Chebyquad, 8, 8, 0.0035168737256779225),
    TestProblem::near(TestFunction::Chebyquad, 9, 9, 2.9069802309506015e-32),
    TestProblem::near(TestFunction::Chebyquad, 10, 10, 0.004772713696375356),
    TestProblem::near(TestFunction::Chebyquad, 11, 11, 0.00279976155186576),
    TestProblem::near(
        TestFunction::BrownAlmostLinear,
        10,
        10,
        2.822642926493933e-30,
    ),
    TestProblem::near(TestFunction::Osborne1, 5, 33, 5.464894697483433e-5),
    TestProblem::near(TestFunction::Osborne2, 11, 65, 0.040137736293547714),
    TestProblem::far(TestFunction::Osborne2, 11, 65, 1.7898135868810932),
    TestProblem::near(TestFunction::Bdqrtic, 8, 8, 10.238973421317434),
    TestProblem::near(TestFunction::Bdqrtic, 10, 12, 18.281161753593533),
    TestProblem::near(TestFunction::Bdqrtic, 11, 14, 22.260591734883754),
    TestProblem::near(TestFunction::Bdqrtic, 12, 16, 26.272766396793962),
    TestProblem::near(TestFunction::Cube, 5, 5, 0.0),
    TestProblem::near(TestFunction::Cube, 6, 6, 0.0),
    TestProblem::near(TestFunction::Cube, 8, 8, 6.6243908125384475e-9),
    TestProblem::near(TestFunction::Mancino, 5, 5, 2.6823673963376067e-22),
    TestProblem::far(TestFunction::Mancino, 5, 5, 2.6823673963376067e-22),
    TestProblem::near(TestFunction::Mancino, 8, 8, 4.0527649488550235e-22),
    TestProblem::near(TestFunction::Mancino, 10, 10, 2.0024152392962146e-22),
    TestProblem::near(TestFunction::Mancino, 12, 12, 1.302954867613069e-22),
    TestProblem::far(TestFunction::Mancino, 12, 12, 1.302954867613069e-22),
    TestProblem::near(TestFunction::Heart8ls, 8, 8, 4.439268521812579e-31),
    TestProblem::far(TestFunction::Heart8ls, 8, 8, 6.606902674220413e-30),
];
