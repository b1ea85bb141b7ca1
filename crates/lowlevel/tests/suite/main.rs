//! Integration tests of the solvers. They are one program, because each program compiles the
//! generic code of the solvers again.

mod adjoint;
mod ball;
mod exact;
mod figure3;
mod misuse;
mod newton;
mod properties;
mod quadratic;
