//! Integration tests of the models. They are one program, because each program compiles the generic
//! code of the solvers again.

mod archive;
mod ball;
mod certified;
mod curvature_bound;
mod figure3;
mod filters;
mod misuse;
mod models;
mod newton;
mod operators;
mod opponent;
mod picture;
mod quality;
mod random;
mod reference;
mod threads;
mod tiles;
mod training_data;
