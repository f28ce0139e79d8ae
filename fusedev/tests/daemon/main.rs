//! The real ghostd from outside: attach, memory, death, restart, hostile clients. No test here looks inside.

mod harness;
mod memory;
