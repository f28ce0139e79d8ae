//! The library side of a tray.
