//! What the command prints: results on standard output, everything else on standard error.
//! A reader that went away (`| head`) is no failure, so nothing here panics as `println!` does.

/// One line of a result.
macro_rules! out {
    ($($arguments:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout().lock(), $($arguments)*);
    }};
}

/// One line about what is going on.
macro_rules! note {
    ($($arguments:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), "ghostrack: {}", format_args!($($arguments)*));
    }};
}

/// Text as it is, on standard error, at once.
macro_rules! progress {
    ($($arguments:tt)*) => {{
        use std::io::Write as _;
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, $($arguments)*).and_then(|()| stderr.flush());
    }};
}

pub(crate) use {note, out, progress};
