//! The ranks that `mpirun -n 4 bilevel learn ...` starts, connected by MPI.
//!
//! MPI needs the feature `mpi`. Without it, and without `mpirun`, the program is a single rank.

#[cfg(feature = "mpi")]
mod world;

use std::env;

use bilevel::Ranks;

/// The connection of this process to the other ranks. MPI ends when it is dropped.
#[derive(Debug)]
pub struct Connection {
    ranks: Ranks,
    // after the ranks, which use it
    #[cfg(feature = "mpi")]
    _world: Option<world::World>,
}

impl Connection {
    /// Connects this process to all others that were started with it. Without a launcher, MPI is
    /// not started, so that it needs no resources.
    ///
    /// # Errors
    /// When MPI does not work in a program with several threads.
    pub fn open() -> Result<Self, String> {
        #[cfg(feature = "mpi")]
        {
            let world = is_launched(env::vars_os().map(|(name, _)| name))
                .then(world::World::start)
                .transpose()?;
            let ranks = world.as_ref().map(world::World::ranks);
            Ok(Self {
                ranks: ranks.unwrap_or_default(),
                _world: world,
            })
        }
        #[cfg(not(feature = "mpi"))]
        Ok(Self {
            ranks: Ranks::default(),
        })
    }

    /// Returns the place of this process among all ranks.
    #[must_use]
    pub const fn ranks(&self) -> &Ranks {
        &self.ranks
    }
}

/// The beginnings of the variables that launchers of MPI set: PMI (MPICH, Intel MPI, Slurm), PMIx
/// (Open MPI, Slurm), Open MPI itself, Cray's PALS, and Flux.
#[cfg(any(feature = "mpi", test))]
const LAUNCHED: [&str; 5] = ["PMI_", "PMIX_", "OMPI_COMM_WORLD_", "PALS_", "FLUX_TASK_"];

/// Whether a launcher of MPI has started a process with these variables.
#[cfg(any(feature = "mpi", test))]
fn is_launched(variables: impl IntoIterator<Item = std::ffi::OsString>) -> bool {
    let is_set = |name: &str| LAUNCHED.iter().any(|start| name.starts_with(start));
    (variables.into_iter()).any(|name| name.to_str().is_some_and(is_set))
}

/// Returns the largest exit code of all ranks, so that they all end with the same one.
pub(crate) fn common_code(ranks: &Ranks, own: u8) -> u8 {
    let code = |code: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the numbers are exit codes"
        )]
        let code = code as u8;
        code
    };
    match ranks.gather(&[f64::from(own)]) {
        Ok(all) => all.concat().into_iter().map(code).max().unwrap_or(own),
        Err(_) => own.max(1),
    }
}

/// The variables in which launchers tell a process its number, and how many they have started.
const LAUNCHERS: [[&str; 2]; 3] = [
    ["PMI_RANK", "PMI_SIZE"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"],
];

/// Returns a warning if this process works alone, although it is the first of several that a
/// launcher has started.
pub(crate) fn apart_warning(num_ranks: usize) -> Option<String> {
    warning(num_ranks, |name| env::var(name).ok()?.parse().ok())
}

fn warning(num_ranks: usize, variable: impl Fn(&str) -> Option<usize>) -> Option<String> {
    let started = |[rank, size]: [&str; 2]| match variable(rank) {
        Some(0) => variable(size),
        _ => None,
    };
    let count = LAUNCHERS.into_iter().find_map(started)?;
    let remedy = if cfg!(feature = "mpi") {
        "start them with the mpirun of the MPI that the program was built with"
    } else {
        "build the program with `--features mpi`"
    };
    (num_ranks == 1 && count > 1).then(|| {
        format!(
            "{count} processes were started together, but each of them learns by itself: {remedy}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_their_variables() {
        let launched = |names: &[&str]| is_launched(names.iter().map(Into::into));
        assert!(launched(&["HOME", "PMI_RANK"]));
        assert!(launched(&["PMIX_RANK"]) && launched(&["OMPI_COMM_WORLD_SIZE"]));
        assert!(!launched(&["HOME", "SLURM_JOB_ID", "MY_PMI_RANK"]));
    }

    #[test]
    fn processes_that_do_not_know_each_other_are_told_once() {
        let of = |rank, size| {
            move |name: &str| match name {
                "PMI_RANK" => Some(rank),
                "PMI_SIZE" => Some(size),
                _ => None,
            }
        };
        let found = warning(1, of(0, 4)).expect("four processes");
        assert!(
            found.starts_with("4 processes") && found.contains("mpi"),
            "{found}"
        );
        assert_eq!(warning(1, of(1, 4)), None);
        assert_eq!(warning(1, of(0, 1)), None);
        assert_eq!(warning(4, of(0, 4)), None);
        assert_eq!(warning(1, |_| None), None);
    }
}
