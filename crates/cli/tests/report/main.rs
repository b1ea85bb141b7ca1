//! Findings about results, and their pages.

mod findings;
mod page;
mod results;
mod tags;
