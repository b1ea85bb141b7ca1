//! Working memory for reconstructions, which later reconstructions reuse.

use std::sync::{Mutex, MutexGuard, PoisonError};

use imaging::Grid;
use lowlevel::State;
use lowlevel::adjoint::AdjointState;

/// The working memory of one reconstruction.
#[derive(Debug)]
pub(crate) struct Workspace<S> {
    grid: Grid,
    pub(crate) state: State,
    /// `None` until the first objective on this grid has been built.
    pub(crate) scratch: Option<S>,
    /// The adjoint, and a vector for the start or for the gradient of the loss.
    pub(crate) adjoint: AdjointState,
    pub(crate) buffer: Vec<f64>,
}

/// The workspaces that are not in use.
#[derive(Debug)]
pub(crate) struct Workspaces<S>(Mutex<Vec<Workspace<S>>>);

impl<S> Workspaces<S> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn free(&self) -> MutexGuard<'_, Vec<Workspace<S>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out a workspace that was used on this grid before, or creates an empty one.
    pub(crate) fn take(&self, grid: Grid) -> Workspace<S> {
        let mut free = self.free();
        let known = free.iter().rposition(|workspace| workspace.grid == grid);
        known
            .map(|index| free.swap_remove(index))
            .unwrap_or_else(|| Workspace {
                grid,
                state: State::default(),
                scratch: None,
                adjoint: AdjointState::default(),
                buffer: Vec::new(),
            })
    }

    /// Puts a workspace back. At most one workspace per thread stays here.
    pub(crate) fn put_back(&self, workspace: Workspace<S>) {
        let mut free = self.free();
        if free.len() >= num_threads() {
            free.remove(0);
        }
        free.push(workspace);
    }
}

#[cfg(feature = "rayon")]
fn num_threads() -> usize {
    rayon::current_num_threads()
}

#[cfg(not(feature = "rayon"))]
const fn num_threads() -> usize {
    1
}
