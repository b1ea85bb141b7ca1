//! What a result means, and its page.

mod findings;
mod page;
mod results;
mod tags;
