//! `nvidia-smi` in the layout of driver 580, on whatever libnvidia-ml.so.1 the loader finds.
//! It shows what any NVML client sees and knows nothing of the tray behind it.

mod args;
mod cell;
mod fields;
mod nvml;
mod query;
mod report;
mod set;
mod summary;
mod time;

use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use args::{Request, Task};
use nvml::{Failure, GPU_IS_LOST, Gpu, NO_PERMISSION, NOT_FOUND, Nvml};

/// What a round prints, and with which code the program ends if it ends here.
struct Round {
    text: String,
    code: u8,
}

const NO_LIBRARY: &str = "\
NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly installed and present in your system.
Please also try adding directory that contains libnvidia-ml.so to your system PATH.
";
const NO_DRIVER: &str = "\
NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.

";
const LIBRARY_NOT_FOUND: u8 = 12;
const DRIVER_NOT_LOADED: i32 = 9;
const LIBRARY_MISMATCH: i32 = 18;
const NO_DEVICES: u8 = 6;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let code = match args::parse(&arguments) {
        Ok(request) => run(&request),
        Err(refused) => {
            say(&mut io::stdout(), &refused.text);
            refused.code
        }
    };
    ExitCode::from(code)
}

fn run(request: &Request) -> u8 {
    let mut out: Box<dyn Write> = match request.file.as_deref().map(File::create) {
        None => Box::new(io::stdout()),
        Some(Ok(file)) => Box::new(file),
        Some(Err(error)) => {
            eprintln!("nvidia-smi: cannot write {}: {error}", request.file.as_deref().unwrap_or_default());
            return 1;
        }
    };
    if let Some(text) = without_library(&request.task) {
        say(&mut out, &text);
        return 0;
    }
    let Some(nvml) = Nvml::open() else {
        say(&mut out, NO_LIBRARY);
        return LIBRARY_NOT_FOUND;
    };
    if let Err(failure) = nvml.init() {
        say(&mut out, &start_failure(&nvml, &failure));
        return exit_code(&failure);
    }
    let code = rounds(&nvml, request, &mut out);
    nvml.shutdown();
    code
}

fn without_library(task: &Task) -> Option<String> {
    match task {
        Task::Help => Some(args::HELP.to_owned()),
        Task::HelpQueryGpu => {
            let names = fields::FIELDS.iter().map(|field| (field.name, field.alias, field.unit));
            Some(query::help("--query-gpu", names))
        }
        Task::HelpQueryApps => {
            let names = query::APP_FIELDS.iter().map(|(name, alias, _)| (*name, *alias, ""));
            Some(query::help("--query-compute-apps", names))
        }
        _ => None,
    }
}

/// Writes all of it; a reader that has gone away ends the program quietly, as a pager does.
fn say(out: &mut dyn Write, text: &str) -> bool {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

fn start_failure(nvml: &Nvml, failure: &Failure) -> String {
    match failure.code {
        DRIVER_NOT_LOADED => NO_DRIVER.to_owned(),
        LIBRARY_MISMATCH => {
            let version = short_version(&nvml.system_text(c"nvmlSystemGetNVMLVersion").unwrap_or_default());
            format!("Failed to initialize NVML: {}\nNVML library version: {version}\n", failure.words)
        }
        _ => format!("Failed to initialize NVML: {}\n", failure.words),
    }
}

/// `580.95` of `13.580.95.05`.
fn short_version(full: &str) -> String {
    full.split('.').skip(1).take(2).collect::<Vec<_>>().join(".")
}

fn exit_code(failure: &Failure) -> u8 {
    match failure.code {
        1..=15 | LIBRARY_MISMATCH => failure.code as u8,
        _ => 255,
    }
}

/// One round, or rounds until somebody interrupts.
fn rounds(nvml: &Nvml, request: &Request, out: &mut dyn Write) -> u8 {
    let mut first = true;
    loop {
        let round = one(nvml, request, first);
        let goes_on = say(out, &round.text);
        let Some(every_ms) = request.every_ms.filter(|_| goes_on && round.code == 0) else {
            return round.code;
        };
        first = false;
        std::thread::sleep(Duration::from_millis(every_ms));
    }
}

fn one(nvml: &Nvml, request: &Request, first: bool) -> Round {
    match &request.task {
        Task::Version => Round { text: versions(nvml), code: 0 },
        Task::List => list(nvml),
        task => match chosen(nvml, &request.ids) {
            Ok(gpus) if gpus.is_empty() => Round { text: "No devices were found\n".to_owned(), code: NO_DEVICES },
            Ok(gpus) => shown(nvml, task, &gpus, first),
            Err(round) => round,
        },
    }
}

fn shown(nvml: &Nvml, task: &Task, gpus: &[Gpu<'_>], first: bool) -> Round {
    let fine = |text: String| Round { text, code: 0 };
    match task {
        Task::QueryGpu(fields, format) => {
            let header =
                if first && !format.without_header { query::gpu_header(fields, *format) } else { String::new() };
            fine(gpus.iter().fold(header, |text, gpu| text + &query::gpu_row(gpu, fields, *format)))
        }
        Task::QueryApps(fields, format) => {
            let header =
                if first && !format.without_header { query::app_header(fields, *format) } else { String::new() };
            fine(gpus.iter().fold(header, |text, gpu| text + &query::app_rows(gpu, fields, *format)))
        }
        Task::Report { xml } => report(nvml, gpus, *xml),
        Task::Set(setting) => change(*setting, gpus),
        _ => table(nvml, gpus),
    }
}

fn table(nvml: &Nvml, gpus: &[Gpu<'_>]) -> Round {
    let rows: Vec<_> = gpus.iter().map(summary::Row::read).collect();
    let drawn = summary::draw(&time::long(), &driver_version(nvml), &cuda_version(nvml), &rows);
    Round { text: drawn.text, code: drawn.failure.as_ref().map_or(0, exit_code) }
}

/// The first GPU that refuses ends it.
fn change(setting: set::Setting, gpus: &[Gpu<'_>]) -> Round {
    let mut text = String::new();
    for gpu in gpus {
        let bus_id = fields::find("pci.bus_id").map_or_else(String::new, |field| cell::line(&field.read(gpu), ""));
        match setting.apply(gpu, &bus_id) {
            Ok(line) => text += &line,
            Err((line, failure)) => {
                text += &format!("{line}Terminating early due to previous errors.\n");
                return Round { text, code: exit_code(&failure) };
            }
        }
    }
    Round { text: text + setting.epilogue(), code: 0 }
}

fn driver_version(nvml: &Nvml) -> String {
    nvml.system_text(c"nvmlSystemGetDriverVersion").unwrap_or_else(|failure| failure.words)
}

fn cuda_version(nvml: &Nvml) -> String {
    match nvml.system_number(c"nvmlSystemGetCudaDriverVersion_v2") {
        Ok(version) => format!("{}.{}", version / 1000, version % 1000 / 10),
        Err(_) => "N/A".to_owned(),
    }
}

fn versions(nvml: &Nvml) -> String {
    let (driver, cuda) = (driver_version(nvml), cuda_version(nvml));
    let library = short_version(&nvml.system_text(c"nvmlSystemGetNVMLVersion").unwrap_or_default());
    format!(
        "NVIDIA-SMI version  : {driver}\nNVML version        : {library}\n\
         DRIVER version      : {driver}\nCUDA Version        : {cuda}\n"
    )
}

fn report(nvml: &Nvml, gpus: &[Gpu<'_>], xml: bool) -> Round {
    let (driver, cuda, time) = (driver_version(nvml), cuda_version(nvml), time::long());
    let attached = nvml.system_number(c"nvmlDeviceGetCount_v2").unwrap_or_default();
    let mut text = if xml {
        format!(
            "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v13.dtd\">\n<nvidia_smi_log>\n\
             \t<timestamp>{time}</timestamp>\n\t<driver_version>{driver}</driver_version>\n\
             \t<cuda_version>{cuda}</cuda_version>\n\t<attached_gpus>{attached}</attached_gpus>\n"
        )
    } else {
        let line = |label: &str, value: &str| format!("{label:<42}: {value}\n");
        let head = [line("Timestamp", &time), line("Driver Version", &driver), line("CUDA Version", &cuda)].concat();
        format!("\n==============NVSMI LOG==============\n\n{head}\n{}", line("Attached GPUs", &attached.to_string()))
    };
    let bus_id = fields::find("pci.bus_id");
    for gpu in gpus {
        match bus_id.map_or_else(|| Ok(String::new()), |field| field.read(gpu)) {
            Ok(id) if xml => text += &report::xml(gpu, &id),
            Ok(id) => text += &(report::text(gpu, &id) + "\n"),
            Err(failure) => {
                text += &format!("Unable to determine the PCI bus id for the target device: {}\n\n", failure.words);
                return Round { text, code: exit_code(&failure) };
            }
        }
    }
    Round { text: text + if xml { "</nvidia_smi_log>\n" } else { "" }, code: 0 }
}

/// A GPU that cannot be opened is told, and the others are listed.
fn list(nvml: &Nvml) -> Round {
    let (mut text, mut code) = (String::new(), 0);
    for index in 0..nvml.system_number(c"nvmlDeviceGetCount_v2").unwrap_or_default() {
        match nvml
            .by_index(index)
            .and_then(|gpu| Ok((gpu.text(c"nvmlDeviceGetName")?, gpu.text(c"nvmlDeviceGetUUID")?)))
        {
            Ok((name, uuid)) => text += &format!("GPU {index}: {name} (UUID: {uuid})\n"),
            Err(failure) => {
                let id = nvml.bus_id_of(index).unwrap_or_default();
                text += &format!("Unable to determine the device handle for gpu {id}: {}", handle_words(&failure));
                code = exit_code(&failure);
            }
        }
    }
    if text.is_empty() {
        return Round { text: "No devices were found\n".to_owned(), code: NO_DEVICES };
    }
    Round { text, code }
}

/// Words for a GPU that gives no handle; each ends its line.
fn handle_words(failure: &Failure) -> String {
    match failure.code {
        GPU_IS_LOST => format!("{}.  Reboot the system to recover this GPU\n\n\n", failure.words),
        16 => "A GPU reset must occur before this GPU can be used again.\n\n.\n".to_owned(),
        _ => format!("{}\n", failure.words),
    }
}

/// The GPUs asked for, in order; the first that cannot be opened ends the command.
fn chosen<'a>(nvml: &'a Nvml, ids: &[String]) -> Result<Vec<Gpu<'a>>, Round> {
    let count = nvml.system_number(c"nvmlDeviceGetCount_v2").unwrap_or_default();
    let mut gpus = Vec::new();
    let all: Vec<String> = (0..count).map(|index| index.to_string()).collect();
    for id in if ids.is_empty() { &all } else { ids } {
        match open(nvml, id) {
            Ok(gpu) => gpus.push(gpu),
            // Not ours to see, or not there: as if it did not exist.
            Err(failure) if matches!(failure.code, 2 | NO_PERMISSION | NOT_FOUND) => {}
            Err(failure) => return Err(cannot_open(nvml, id, &failure)),
        }
    }
    Ok(gpus)
}

fn cannot_open(nvml: &Nvml, id: &str, failure: &Failure) -> Round {
    let address = id.parse().ok().and_then(|index| nvml.bus_id_of(index).ok());
    let name = address.map_or_else(|| format!("GPU {id}"), |address| format!("GPU{id}: {address}"));
    let text = format!("Unable to determine the device handle for {name}: {}", handle_words(failure));
    Round { text, code: exit_code(failure) }
}

/// By index, UUID or PCI address.
fn open<'a>(nvml: &'a Nvml, id: &str) -> nvml::Result<Gpu<'a>> {
    match id.parse::<u32>() {
        Ok(index) => nvml.by_index(index),
        Err(_) if id.contains(':') => nvml.by_name(c"nvmlDeviceGetHandleByPciBusId_v2", id),
        Err(_) => nvml.by_name(c"nvmlDeviceGetHandleByUUID", id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_ends_with_its_code_or_255() {
        let code = |code| exit_code(&Failure { code, words: String::new() });
        assert_eq!([9, 4, 15, 18, 16, 999].map(code), [9, 4, 15, 18, 255, 255]);
    }

    #[test]
    fn the_library_version_leaves_out_the_first_and_last_part() {
        assert_eq!(short_version("13.580.95.05"), "580.95");
    }
}
