//! Many solves at once.

use crate::error::SolveError;
use crate::objective::StronglyConvex;
use crate::solve::Solver;
use crate::state::State;
use crate::stop::{Solved, Stop};

impl Solver<'_> {
    /// Minimises each objective from the state beside it, as [`minimize`](Self::minimize) does.
    ///
    /// ```
    /// use lowlevel::{ErrorBound, Solver, State, Stop, testing::NesterovQuadratic};
    ///
    /// let objectives = [10.0, 100.0, 1000.0].map(|condition| NesterovQuadratic::new(10, 1.0, condition));
    /// let mut states = vec![State::new(vec![1.0; 10]); 3];
    /// let stop = Stop::accuracy(ErrorBound::new(1e-6)?);
    /// for solved in Solver::default().minimize_all(&objectives, stop, &mut states) {
    ///     assert!(solved?.error.value() <= 1e-6);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// With the feature `rayon` the solves share the threads of the current pool. Each is computed on its own, so the
    /// answers do not depend on the number of threads, to the last bit.
    ///
    /// # Panics
    /// When there are not as many states as objectives.
    pub fn minimize_all<O: StronglyConvex>(
        &self,
        objectives: &[O],
        stop: Stop,
        states: &mut [State],
    ) -> Vec<Result<Solved, SolveError>> {
        each(objectives, states, |objective, state, scratch| {
            self.minimize(objective, stop, state, scratch)
        })
    }

    /// Goes on with each objective where the state beside it stands, as [`refine`](Self::refine) does.
    ///
    /// # Panics
    /// When there are not as many states as objectives.
    pub fn refine_all<O: StronglyConvex>(
        &self,
        objectives: &[O],
        stop: Stop,
        states: &mut [State],
    ) -> Vec<Result<Solved, SolveError>> {
        each(objectives, states, |objective, state, scratch| {
            self.refine(objective, stop, state, scratch)
        })
    }
}

fn each<O: StronglyConvex>(
    objectives: &[O],
    states: &mut [State],
    solve: impl Fn(&O, &mut State, &mut O::Scratch) -> Result<Solved, SolveError> + Sync,
) -> Vec<Result<Solved, SolveError>> {
    assert_eq!(
        objectives.len(),
        states.len(),
        "one state per objective is needed"
    );
    let one =
        |(objective, state): (&O, &mut State)| solve(objective, state, &mut objective.scratch());
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        // One solve may take a thousand times as long as another: hand them out one by one.
        let pairs = objectives.par_iter().zip(states).with_max_len(1);
        pairs.map(one).collect()
    }
    #[cfg(not(feature = "rayon"))]
    {
        objectives.iter().zip(states).map(one).collect()
    }
}
