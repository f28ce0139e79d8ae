//! The real `ghostrack` and `ghostd` in scratch run directories. Nothing is mocked and no GPU library is needed.

mod harness;
mod lifetime;
mod operating;
mod running;
mod trust;
