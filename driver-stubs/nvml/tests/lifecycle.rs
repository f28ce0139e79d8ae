//! A process and its tray: attach, count, see only one's own nodes, say changes, fork, lose ghostd and find it again.
//! Each scene is a child process of its own, because a library initialises once per process and the place of the tray
//! comes from the environment; the parent serves a tray that stands still.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ghost_abi::Plain;
use ghost_engine::place::SOCKET_VAR;
use ghost_engine::wire::Status;
use ghost_nvml::Gpu;
use tray::StillTray;

#[path = "common/facts.rs"]
mod facts;
#[path = "common/tray.rs"]
mod tray;

const SCENE_VAR: &str = "GHOST_NVML_TEST_SCENE";

// The rows are C functions of the library under test; here they are called as C would call them.
unsafe extern "C" {
    fn nvmlInit_v2() -> i32;
    fn nvmlShutdown() -> i32;
    fn nvmlDeviceGetCount_v2(count: *mut u32) -> i32;
    fn nvmlDeviceGetHandleByIndex_v2(index: u32, gpu: *mut Gpu) -> i32;
    fn nvmlDeviceGetMinorNumber(gpu: Gpu, minor: *mut u32) -> i32;
    fn nvmlDeviceGetPowerUsage(gpu: Gpu, milliwatts: *mut u32) -> i32;
    fn nvmlDeviceSetPersistenceMode(gpu: Gpu, mode: u32) -> i32;
    fn nvmlDeviceGetActiveVgpus(gpu: Gpu, count: *mut u32, list: *mut u32) -> i32;
}

/// What each scene is called, and how the tray stands for it.
const SCENES: [(&str, usize, fn()); 7] = [
    ("without_a_tray_no_driver_is_loaded", 0, without_a_tray_no_driver_is_loaded),
    ("initialisations_are_counted", 4, initialisations_are_counted),
    ("only_nodes_that_exist_are_seen", 2, only_nodes_that_exist_are_seen),
    ("a_setter_says_a_change", 4, a_setter_says_a_change),
    ("a_forked_child_reads_and_sets", 4, a_forked_child_reads_and_sets),
    ("a_function_without_a_handler_is_not_supported", 4, a_function_without_a_handler_is_not_supported),
    ("a_getter_outlives_ghostd", 4, a_getter_outlives_ghostd),
];

fn main() {
    let _linked = ghost_nvml::TABLE;
    if let Ok(scene) = std::env::var(SCENE_VAR) {
        let (.., play) = SCENES.into_iter().find(|(name, ..)| *name == scene).expect("a scene of that name");
        return play();
    }
    for (name, nodes, _) in SCENES {
        println!("scene {name}");
        direct(name, nodes);
    }
    println!("{} scenes passed", SCENES.len());
}

/// Serves a tray, plays the scene in a child, and does what the scene asks of the tray meanwhile.
fn direct(name: &str, nodes: usize) {
    let directory = std::env::temp_dir().join(format!("ghost-nvml-{}-{name}", std::process::id()));
    let tray = StillTray::serve(&directory, nodes, |_| ()).unwrap();
    if name == "a_setter_says_a_change" {
        *tray.answer.lock().unwrap() = Status::Denied;
    }
    if nodes == 0 {
        std::fs::remove_file(tray.socket()).unwrap();
    }
    let mut child = play(name, &tray);
    if name == "a_getter_outlives_ghostd" {
        wait_for(&directory.join("ready"));
        tray.publisher.lock().unwrap().close();
        let _ = std::fs::remove_file(tray.socket());
        wait_for(&directory.join("noticed"));
        StillTray::serve(&directory, nodes, |facts| facts.gpus[0].live.power_average_milliwatts = 7).unwrap();
    }
    assert!(child.wait().unwrap().success(), "{name}");
    let said = tray.said.lock().unwrap().clone();
    match name {
        "a_setter_says_a_change" => assert_eq!(said, [r#"{"change":"persistence","gpu":1,"enabled":false}"#]),
        "a_forked_child_reads_and_sets" => assert_eq!(said.len(), 1),
        _ => assert_eq!(said, [""; 0]),
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

fn play(name: &str, tray: &Arc<StillTray>) -> std::process::Child {
    let me = std::env::current_exe().unwrap();
    // The library silences panics unless its log is asked for; here they are how a scene fails.
    let log = ("GHOSTRACK_LOG", "1");
    Command::new(me).env(SCENE_VAR, name).env(SOCKET_VAR, tray.socket()).env(log.0, log.1).spawn().unwrap()
}

/// Polls for a file that the other side makes.
fn wait_for(path: &std::path::Path) {
    let until = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < until, "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn without_a_tray_no_driver_is_loaded() {
    // SAFETY: takes nothing.
    assert_eq!(unsafe { nvmlInit_v2() }, 9);
}

fn init() {
    // SAFETY: takes nothing.
    assert_eq!(unsafe { nvmlInit_v2() }, 0);
}

fn shutdown() -> i32 {
    // SAFETY: takes nothing.
    unsafe { nvmlShutdown() }
}

/// Asks a function for one value.
fn ask<T: Plain>(call: impl FnOnce(*mut T) -> i32) -> Result<T, i32> {
    let mut value = T::zeroed();
    match call(&raw mut value) {
        0 => Ok(value),
        code => Err(code),
    }
}

fn count() -> Result<u32, i32> {
    // SAFETY: writes one value.
    ask(|out| unsafe { nvmlDeviceGetCount_v2(out) })
}

fn handle(index: u32) -> Gpu {
    // SAFETY: writes one value.
    ask(|out| unsafe { nvmlDeviceGetHandleByIndex_v2(index, out) }).unwrap()
}

fn power(gpu: Gpu) -> Result<u32, i32> {
    // SAFETY: writes one value.
    ask(|out| unsafe { nvmlDeviceGetPowerUsage(gpu, out) })
}

fn initialisations_are_counted() {
    assert_eq!(count(), Err(1));
    init();
    init();
    assert_eq!(shutdown(), 0);
    assert_eq!(count(), Ok(4));
    assert_eq!(shutdown(), 0);
    assert_eq!((count(), shutdown()), (Err(1), 1));
    init();
    assert_eq!(power(handle(3)), Ok(165_930));
}

fn only_nodes_that_exist_are_seen() {
    init();
    assert_eq!(count(), Ok(2));
    // SAFETY: writes one value.
    assert_eq!(ask(|out| unsafe { nvmlDeviceGetMinorNumber(handle(1), out) }), Ok(1));
    // SAFETY: writes one value.
    assert_eq!(ask::<Gpu>(|out| unsafe { nvmlDeviceGetHandleByIndex_v2(2, out) }), Err(2));
}

fn a_setter_says_a_change() {
    init();
    // SAFETY: takes numbers.
    assert_eq!(unsafe { nvmlDeviceSetPersistenceMode(handle(1), 0) }, 4);
}

fn a_forked_child_reads_and_sets() {
    init();
    // SAFETY: the child only calls the library and leaves without running exit handlers.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: takes numbers.
            let set = unsafe { nvmlDeviceSetPersistenceMode(handle(1), 1) };
            let fine = power(handle(0)) == Ok(165_930) && set == 0;
            // SAFETY: as above.
            unsafe { libc::_exit(i32::from(!fine)) }
        }
        child => {
            let mut status = -1;
            // SAFETY: waits for the child just made.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!(status, 0);
        }
    }
    assert_eq!(power(handle(0)), Ok(165_930));
}

fn a_function_without_a_handler_is_not_supported() {
    init();
    let mut untouched = [0xaaaa_aaaa_u32; 2];
    let [count, list] = untouched.each_mut().map(std::ptr::from_mut);
    // SAFETY: both lend one value.
    assert_eq!(unsafe { nvmlDeviceGetActiveVgpus(handle(0), count, list) }, 3);
    assert_eq!(untouched, [0xaaaa_aaaa; 2]);
}

fn a_getter_outlives_ghostd() {
    init();
    let gpu = handle(0);
    assert_eq!(power(gpu), Ok(165_930));
    let socket = PathBuf::from(std::env::var_os(SOCKET_VAR).unwrap());
    std::fs::write(socket.with_file_name("ready"), "").unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let mut lost = false;
    loop {
        match power(gpu) {
            Ok(165_930) => assert!(!lost),
            Ok(7) => break,
            Err(15) if !lost => {
                lost = true;
                std::fs::write(socket.with_file_name("noticed"), "").unwrap();
            }
            Err(15) => {}
            other => panic!("{other:?}"),
        }
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(lost);
}
