//! The program as users run it: its exit codes, its messages, and the files that it leaves.

mod apply;
mod arrays;
mod bad_input;
mod bad_run;
mod camera;
mod colour;
mod deblurring;
mod denoise;
mod filters;
mod full_disk;
mod kinds;
mod learn;
mod mask;
mod missing;
#[cfg(all(feature = "mpi", target_os = "linux"))]
mod mpi;
mod output;
mod resume;
mod scene;
mod volumes;
mod warnings;
