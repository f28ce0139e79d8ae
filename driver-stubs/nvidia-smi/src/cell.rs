//! How values and failures are written: one cell of a csv row, one line of `-q`.
//! Units are written here and nowhere else.

use crate::nvml::{Failure, NOT_SUPPORTED};

/// A value without its unit, or why there is none.
pub type Cell = Result<String, Failure>;

/// For csv: failures in brackets.
pub fn csv(cell: &Cell, unit: &str) -> String {
    match cell {
        Ok(value) if unit.is_empty() => value.clone(),
        Ok(value) => format!("{value} {unit}"),
        Err(failure) => format!("[{}]", words(failure)),
    }
}

/// For `-q`: failures as they are.
pub fn line(cell: &Cell, unit: &str) -> String {
    match cell {
        Ok(value) if unit.is_empty() || value == "N/A" => value.clone(),
        Ok(value) => format!("{value} {unit}"),
        Err(failure) => words(failure).to_owned(),
    }
}

fn words(failure: &Failure) -> &str {
    if failure.code == NOT_SUPPORTED { "N/A" } else { &failure.words }
}

/// Hundredths of a watt from milliwatts.
pub fn watts(milliwatts: u32) -> String {
    format!("{}.{:02}", milliwatts / 1000, milliwatts % 1000 / 10)
}

/// Whole mebibytes, to the nearest.
pub fn mebibytes(bytes: u64) -> String {
    ((bytes + (1 << 19)) >> 20).to_string()
}

pub fn enabled(value: u32) -> String {
    choose(value, "Disabled", "Enabled")
}

pub fn yes(value: u32) -> String {
    choose(value, "No", "Yes")
}

pub fn active(value: u32) -> String {
    choose(value, "Not Active", "Active")
}

fn choose(value: u32, off: &str, on: &str) -> String {
    if value == 0 { off.to_owned() } else { on.to_owned() }
}

/// The name at a place of a list, or `Unknown`.
pub fn named(value: u32, names: &[&str]) -> String {
    names.get(value as usize).copied().unwrap_or("Unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_in_brackets_only_in_csv() {
        let lost: Cell = Err(Failure { code: 15, words: "GPU is lost".to_owned() });
        assert_eq!((csv(&lost, "W").as_str(), line(&lost, "W").as_str()), ("[GPU is lost]", "GPU is lost"));
        let none: Cell = Err(Failure { code: 3, words: "Not Supported".to_owned() });
        assert_eq!((csv(&none, "W").as_str(), line(&none, "W").as_str()), ("[N/A]", "N/A"));
    }

    #[test]
    fn numbers_carry_their_units() {
        assert_eq!(csv(&Ok(watts(165_939)), "W"), "165.93 W");
        assert_eq!(mebibytes(189_471 << 20), "189471");
    }
}
