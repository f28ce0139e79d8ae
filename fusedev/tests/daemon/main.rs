//! The real ghostd from outside: attach, memory, death, restart, hostile clients. No test here looks inside.

mod changes;
mod death;
mod harness;
mod hostile;
mod load;
mod memory;
mod owners;
mod parts;
mod restart;
