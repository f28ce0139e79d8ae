//! The command line, in the real program's grammar and with its words for what is wrong.
//! It opens no library.

use crate::fields::Field;
use crate::query::{self, AppField, Format};
use crate::set::Setting;

/// What is asked for.
#[derive(Debug)]
pub enum Task {
    Help,
    HelpQueryGpu,
    HelpQueryApps,
    Version,
    List,
    Summary,
    QueryGpu(Vec<&'static Field>, Format),
    QueryApps(Vec<(&'static str, AppField)>, Format),
    Report { xml: bool },
    Set(Setting),
}

/// The task and what holds for every task.
#[derive(Debug)]
pub struct Request {
    pub task: Task,
    /// GPUs by index, UUID or PCI address; empty = all.
    pub ids: Vec<String>,
    pub every_ms: Option<u64>,
    pub file: Option<String>,
}

/// A command line that is refused: text and exit code.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    pub text: String,
    pub code: u8,
}

#[derive(Debug, Default)]
struct Words {
    list: bool,
    query: bool,
    xml: bool,
    version: bool,
    setting: Option<Setting>,
    query_gpu: Option<String>,
    query_apps: Option<String>,
    format: Option<String>,
    ids: Vec<String>,
    every_ms: Option<u64>,
    file: Option<String>,
}

const SEE_HELP: &str = "Please run 'nvidia-smi -h' for help.";
/// Seconds between rounds when `-l` does not say.
const LOOP_MS: u64 = 5000;

fn refused(text: String, code: u8) -> Refused {
    Refused { text, code }
}

/// Reads the words after the program's name.
pub fn parse(arguments: &[String]) -> Result<Request, Refused> {
    let mut words = Words::default();
    let mut rest = arguments.iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        let (name, attached) = split(word);
        // A value follows its option as a word of its own unless it is attached.
        let mut value = || attached.map(str::to_owned).or_else(|| rest.next().map(str::to_owned));
        match name {
            "-h" | "--help" => return Ok(request(Task::Help, words)),
            "--help-query-gpu" => return Ok(request(Task::HelpQueryGpu, words)),
            "--help-query-compute-apps" => return Ok(request(Task::HelpQueryApps, words)),
            "--version" => words.version = true,
            "-L" | "--list-gpus" => words.list = true,
            "-q" | "--query" => words.query = true,
            "-x" | "--xml-format" => words.xml = true,
            "--query-gpu" => words.query_gpu = value(),
            "--query-compute-apps" => words.query_apps = value(),
            "--format" => words.format = value(),
            "-i" | "--id" => words.ids = list(&value().ok_or_else(|| needs_value(name))?),
            "-f" | "--filename" => words.file = Some(value().ok_or_else(|| needs_value(name))?),
            "-l" | "--loop" | "-lms" | "--loop-ms" => {
                let given = attached
                    .map(str::to_owned)
                    .or_else(|| rest.next_if(|next| !next.starts_with('-')).map(str::to_owned));
                words.every_ms = Some(interval(name, given.as_deref())?);
            }
            option if Setting::takes_value(option).is_some() => {
                let given = if Setting::takes_value(option) == Some(true) { value() } else { None };
                words.setting = Some(setting(option, given.as_deref())?);
            }
            _ => {
                return Err(refused(
                    format!("ERROR: Option {word} is not recognized. Please run 'nvidia-smi -h'.\n"),
                    255,
                ));
            }
        }
    }
    decide(words)
}

/// `--name=value`, for long options only.
fn split(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((name, value)) if name.starts_with("--") || name == "-i" => (name, Some(value)),
        _ => (word, None),
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()).collect()
}

fn needs_value(name: &str) -> Refused {
    refused(format!("ERROR: Option {name} requires an argument. {SEE_HELP}\n"), 2)
}

fn setting(option: &str, given: Option<&str>) -> Result<Setting, Refused> {
    let shown = given.unwrap_or_default();
    Setting::parse(option, given)
        .ok_or_else(|| refused(format!("ERROR: Option {option}: `{shown}` is no value for it. {SEE_HELP}\n"), 2))
}

fn interval(name: &str, given: Option<&str>) -> Result<u64, Refused> {
    let unit = if name.ends_with("ms") { 1 } else { 1000 };
    match given.map(str::parse::<u64>) {
        None => Ok(LOOP_MS),
        Some(Ok(number)) if number > 0 => Ok(number * unit),
        Some(_) => Err(refused(format!("ERROR: Option {name}: expected a number above 0. {SEE_HELP}\n"), 2)),
    }
}

fn request(task: Task, words: Words) -> Request {
    Request { task, ids: words.ids, every_ms: words.every_ms, file: words.file }
}

fn decide(mut words: Words) -> Result<Request, Refused> {
    if words.list && !words.ids.is_empty() {
        return Err(refused(format!("ERROR: Option -i is not valid for this command. {SEE_HELP}\n\n"), 2));
    }
    if words.xml && !words.query {
        let text =
            "Invalid combination of input arguments. Specify -q/--query and -x/--xml-format to run an XML query.";
        return Err(refused(format!("{text}  {SEE_HELP}\n\n"), 2));
    }
    let (gpu, apps) = (words.query_gpu.take(), words.query_apps.take());
    let task = match (gpu, apps) {
        (Some(names), _) => Task::QueryGpu(query::gpu_fields(&names).map_err(unknown_field)?, format(&words)?),
        (_, Some(names)) => Task::QueryApps(query::app_fields(&names).map_err(unknown_field)?, format(&words)?),
        _ if words.version => Task::Version,
        _ if words.setting.is_some() => words.setting.map_or(Task::Summary, Task::Set),
        _ if words.list => Task::List,
        _ if words.query => Task::Report { xml: words.xml },
        _ => Task::Summary,
    };
    Ok(request(task, words))
}

fn unknown_field(name: String) -> Refused {
    refused(format!("Field \"{name}\" is not a valid field to query.\n\n"), 2)
}

fn format(words: &Words) -> Result<Format, Refused> {
    let missing = || refused(format!("\"--format=\" switch is missing. {SEE_HELP}\n\n"), 2);
    let text = words.format.as_deref().ok_or_else(missing)?;
    Format::parse(text).ok_or_else(|| refused("Format modifier is not recognized.\n".to_owned(), 2))
}

/// What `-h` prints.
pub const HELP: &str = "\
nvidia-smi [OPTION1 [ARG1]] [OPTION2 [ARG2]] ...

    -h,   --help                Print usage information and exit.
          --version             Print version information and exit.

    -L,   --list-gpus           Display a list of GPUs connected to the system.
    <no arguments>              Show a summary of GPUs connected to the system.
    -q,   --query               Display GPU info.
    -x,   --xml-format          With -q: produce XML output.

          --query-gpu=          Information about GPU, as csv.
          --query-compute-apps= List of currently active compute processes, as csv.
          --help-query-gpu      Properties of --query-gpu.
          --help-query-compute-apps
                                Properties of --query-compute-apps.
          --format=             csv, with noheader and nounits as wanted.

    -pl,  --power-limit=        Set the power limit in watts.
    -pm,  --persistence-mode=   Set persistence mode: 0, 1.
    -lgc, --lock-gpu-clocks=    Hold SM clocks in a range: MIN[,MAX] in MHz.
    -rgc, --reset-gpu-clocks    Free SM clocks.
    -c,   --compute-mode=       Set compute mode: DEFAULT, EXCLUSIVE_PROCESS, PROHIBITED or its number.
    -e,   --ecc-config=         Set ECC mode, in force after the next reset: 0, 1.

    -i,   --id=                 Target specific GPUs: index, UUID or PCI address, separated by commas.
    -f,   --filename=           Log to a file, rather than to stdout.
    -l,   --loop=               Repeat every so many seconds until Ctrl+C.
    -lms, --loop-ms=            Repeat every so many milliseconds until Ctrl+C.

This is Ghostrack's nvidia-smi. It reads libnvidia-ml.so.1 as NVIDIA's own does; GPUs of a ghost rack are emulated.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request, Refused> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn values_may_be_attached_or_follow() {
        for line in ["--query-gpu=name --format=csv -i 0,2", "--query-gpu name --format csv --id=0,2"] {
            let request = parsed(line).unwrap();
            assert!(matches!(request.task, Task::QueryGpu(fields, _) if fields.len() == 1), "{line}");
            assert_eq!(request.ids, ["0", "2"]);
        }
    }

    #[test]
    fn a_loop_without_a_number_has_the_default() {
        assert_eq!(parsed("-l").unwrap().every_ms, Some(5000));
        assert_eq!(parsed("-l 2").unwrap().every_ms, Some(2000));
        assert_eq!(parsed("-lms 250 -i 1").unwrap().every_ms, Some(250));
        assert_eq!(parsed("--loop=3").unwrap().every_ms, Some(3000));
    }

    /// Texts and codes of the real program, seen on 550.
    #[test]
    fn what_is_wrong_is_said_in_the_real_programs_words() {
        let told = |line: &str| parsed(line).map(drop).unwrap_err();
        let field = "Field \"foo\" is not a valid field to query.\n\n";
        assert_eq!(told("--query-gpu=foo --format=csv"), Refused { text: field.to_owned(), code: 2 });
        assert!(told("--query-gpu=name").text.starts_with("\"--format=\" switch is missing."));
        assert_eq!(told("--query-gpu=name --format=foo").text, "Format modifier is not recognized.\n");
        let option = "ERROR: Option --bogus is not recognized. Please run 'nvidia-smi -h'.\n";
        assert_eq!(told("--bogus"), Refused { text: option.to_owned(), code: 255 });
        assert_eq!((told("-x").code, told("-L -i 1").code), (2, 2));
    }
}
