//! Integration tests of learning. They are one program, because they share the code of all
//! families, which takes longer to compile than the tests take to run.

mod by_hand;
mod checkpoints;
mod colour;
mod deblurring;
mod evaluate;
mod families;
mod gradients;
mod image_range;
mod learned;
mod oracle;
mod paper;
mod ranks;
mod ridge;
mod truthless;
