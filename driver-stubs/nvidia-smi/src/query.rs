//! csv queries: of GPUs and of the processes on them.
//! What a property is, and how it is read, is in `fields`.

use crate::cell::{Cell, csv, mebibytes};
use crate::fields::{self, Field};
use crate::nvml::{Gpu, NO_PERMISSION, NOT_FOUND};
use crate::time;

/// How csv is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format {
    pub without_header: bool,
    pub without_units: bool,
}

impl Format {
    /// `csv[,noheader][,nounits]`; none if a word is not known.
    pub fn parse(text: &str) -> Option<Format> {
        let mut format = Format::default();
        let mut csv = false;
        for word in text.split(',') {
            match word {
                "csv" => csv = true,
                "noheader" => format.without_header = true,
                "nounits" => format.without_units = true,
                _ => return None,
            }
        }
        csv.then_some(format)
    }

    fn title(self, name: &str, unit: &str) -> String {
        if unit.is_empty() || self.without_header { name.to_owned() } else { format!("{name} [{unit}]") }
    }

    fn value(self, cell: &Cell, unit: &str) -> String {
        csv(cell, if self.without_units { "" } else { unit })
    }
}

/// A property of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppField {
    Timestamp,
    GpuName,
    GpuBusId,
    GpuSerial,
    GpuUuid,
    Pid,
    Name,
    Used,
}

/// Name, other name, what it is; in the order of the help.
pub const APP_FIELDS: [(&str, &str, AppField); 8] = [
    ("timestamp", "", AppField::Timestamp),
    ("gpu_name", "", AppField::GpuName),
    ("gpu_bus_id", "", AppField::GpuBusId),
    ("gpu_serial", "", AppField::GpuSerial),
    ("gpu_uuid", "", AppField::GpuUuid),
    ("pid", "", AppField::Pid),
    ("process_name", "name", AppField::Name),
    ("used_gpu_memory", "used_memory", AppField::Used),
];

/// The properties of a list of names, or the name that is none.
pub fn gpu_fields(names: &str) -> Result<Vec<&'static Field>, String> {
    names.split(',').map(|name| fields::find(name.trim()).ok_or_else(|| name.trim().to_owned())).collect()
}

pub fn app_fields(names: &str) -> Result<Vec<(&'static str, AppField)>, String> {
    let find =
        |name: &str| APP_FIELDS.iter().find(|(one, other, _)| name == *one || (name == *other && !other.is_empty()));
    names.split(',').map(|n| find(n.trim()).map(|row| (row.0, row.2)).ok_or_else(|| n.trim().to_owned())).collect()
}

pub fn gpu_header(fields: &[&Field], format: Format) -> String {
    let titles: Vec<_> = fields.iter().map(|field| format.title(field.name, field.unit)).collect();
    titles.join(", ") + "\n"
}

pub fn gpu_row(gpu: &Gpu<'_>, fields: &[&Field], format: Format) -> String {
    let values: Vec<_> = fields.iter().map(|field| format.value(&field.read(gpu), field.unit)).collect();
    values.join(", ") + "\n"
}

pub fn app_header(fields: &[(&str, AppField)], format: Format) -> String {
    let unit = |field: AppField| if field == AppField::Used { "MiB" } else { "" };
    let titles: Vec<_> = fields.iter().map(|(name, field)| format.title(name, unit(*field))).collect();
    titles.join(", ") + "\n"
}

/// One line a process; a GPU that cannot be asked has none.
pub fn app_rows(gpu: &Gpu<'_>, fields: &[(&str, AppField)], format: Format) -> String {
    let of_gpu = |name: &str| fields::find(name).map_or_else(|| Ok(String::new()), |field| field.read(gpu));
    let value = |field: AppField, pid: u32, used: u64| match field {
        AppField::Timestamp => time::csv(),
        AppField::GpuName => csv(&of_gpu("name"), ""),
        AppField::GpuBusId => csv(&of_gpu("pci.bus_id"), ""),
        AppField::GpuSerial => csv(&of_gpu("serial"), ""),
        AppField::GpuUuid => csv(&of_gpu("uuid"), ""),
        AppField::Pid => pid.to_string(),
        AppField::Name => csv(&process_name(gpu, pid), ""),
        AppField::Used => format.value(&Ok(mebibytes(used)), "MiB"),
    };
    let line = |(pid, used): (u32, u64)| {
        let values: Vec<_> = fields.iter().map(|(_, field)| value(*field, pid, used)).collect();
        values.join(", ") + "\n"
    };
    gpu.processes().unwrap_or_default().into_iter().map(line).collect()
}

/// A process that ended meanwhile, or is hidden, is not found.
fn process_name(gpu: &Gpu<'_>, pid: u32) -> Cell {
    gpu.nvml.process_name(pid).map_err(|failure| match failure.code {
        NO_PERMISSION => gpu.nvml.failure(NO_PERMISSION),
        _ => gpu.nvml.failure(NOT_FOUND),
    })
}

/// The help of a query: each name in quotes at the start of its line.
pub fn help<'a>(switch: &str, names: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> String {
    let mut text = format!("List of valid properties to query for the switch \"{switch}\":\n\n");
    for (name, alias, unit) in names {
        let other = if alias.is_empty() { String::new() } else { format!(" or \"{alias}\"") };
        let unit = if unit.is_empty() { String::new() } else { format!(" In {unit}.") };
        text += &format!("\"{name}\"{other}\nThe property {name}.{unit}\n\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_csv_and_what_is_left_out() {
        assert_eq!(Format::parse("csv"), Some(Format::default()));
        assert_eq!(Format::parse("csv,noheader,nounits"), Some(Format { without_header: true, without_units: true }));
        assert_eq!((Format::parse("foo"), Format::parse("noheader")), (None, None));
    }

    #[test]
    fn the_name_that_is_no_property_is_told() {
        assert_eq!(gpu_fields("index,foo").unwrap_err(), "foo");
        assert_eq!(app_fields("pid,name,foo").unwrap_err(), "foo");
        assert_eq!(app_fields("pid, name, used_memory").unwrap()[1].0, "process_name");
    }

    #[test]
    fn a_header_names_units_and_the_first_name() {
        let fields = gpu_fields("clocks.sm,power.draw,name").unwrap();
        assert_eq!(gpu_header(&fields, Format::default()), "clocks.current.sm [MHz], power.draw [W], name\n");
    }

    #[test]
    fn the_help_starts_lines_with_quoted_names() {
        let text = help("--query-gpu", fields::FIELDS.iter().map(|field| (field.name, field.alias, field.unit)));
        assert!(text.contains("\n\"name\" or \"gpu_name\"\n") && text.contains("\n\"fabric.clusterUuid\"\n"));
    }
}
