//! Working memory for reconstructions, which later reconstructions reuse.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

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
    /// The image in the unknown, if the unknown is larger.
    pub(crate) image: Vec<f64>,
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

    /// Lends a workspace that was used on this grid before, or an empty one.
    pub(crate) fn take(&self, grid: Grid) -> Loan<'_, S> {
        let mut free = self.free();
        let known = free.iter().rposition(|workspace| workspace.grid == grid);
        let workspace = known
            .map(|index| free.swap_remove(index))
            .unwrap_or_else(|| Workspace {
                grid,
                state: State::default(),
                scratch: None,
                adjoint: AdjointState::default(),
                buffer: Vec::new(),
                image: Vec::new(),
            });
        Loan {
            workspace: Some(workspace),
            home: self,
        }
    }

    /// Takes a workspace back. At most one workspace per thread stays here.
    fn put_back(&self, workspace: Workspace<S>) {
        let mut free = self.free();
        if free.len() >= num_threads() {
            free.remove(0);
        }
        free.push(workspace);
    }
}

/// A workspace in use. It goes back when this is dropped, after an error as well. A panic loses it,
/// because it may have left the memory in any state.
#[derive(Debug)]
pub(crate) struct Loan<'a, S> {
    /// The workspace; `None` only while this is dropped.
    workspace: Option<Workspace<S>>,
    home: &'a Workspaces<S>,
}

impl<S> Loan<'_, S> {
    /// Returns the workspace.
    pub(crate) const fn get(&mut self) -> &mut Workspace<S> {
        self.workspace.as_mut().expect("not dropped yet")
    }
}

impl<S> Drop for Loan<'_, S> {
    fn drop(&mut self) {
        if let Some(workspace) = self.workspace.take().filter(|_| !thread::panicking()) {
            self.home.put_back(workspace);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_come_back_after_errors() {
        let workspaces: Workspaces<u8> = Workspaces::new();
        let fails = || -> Result<(), String> {
            let mut loan = workspaces.take(Grid::line(3));
            loan.get().scratch = Some(7);
            Err("early".to_owned())
        };
        assert!(fails().is_err());
        assert_eq!(workspaces.take(Grid::line(3)).get().scratch, Some(7));
        assert_eq!(workspaces.take(Grid::line(4)).get().scratch, None);
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _loan = workspaces.take(Grid::line(3));
            panic!("in the model");
        }));
        assert!(panics.is_err());
        assert_eq!(workspaces.take(Grid::line(3)).get().scratch, None);
    }
}
