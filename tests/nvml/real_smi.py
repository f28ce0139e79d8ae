"""NVIDIA's own nvidia-smi 550 from Debian's non-free, unpacked into a scratch folder.

It is never installed, and NVIDIA's libnvidia-ml is never fetched: the program runs on our library.
"""

import pathlib
import platform
import re
import subprocess

PACKAGE = "nvidia-smi"
VERSION = "550.163.01"
SUITE = "trixie"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Unavailable(Exception):
    """Why this machine cannot fetch it."""


def debian_mirror(etc=pathlib.Path("/etc/apt")):
    """The mirror this machine already uses for Debian itself."""
    files = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    for file in files:
        if not file.is_file() or file.suffix not in (".list", ".sources"):
            continue
        for line in file.read_text(errors="replace").splitlines():
            found = re.match(r"(?:URIs:|deb(?:\s+\[[^]]*\])?)\s+(\S+/debian)/?(?:\s|$)", line.strip())
            if found:
                return found[1]
    raise Unavailable("no Debian mirror in this machine's apt sources")


def private_apt(scratch):
    """Options that keep apt's lists, cache and sources inside `scratch`."""
    for folder in ("lists/partial", "cache/archives/partial", "parts"):
        (scratch / folder).mkdir(parents=True, exist_ok=True)
    (scratch / "status").touch()
    options = {
        "Dir::Etc::SourceList": scratch / "sources.list",
        "Dir::Etc::SourceParts": scratch / "parts",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": scratch / "parts",
        "Dir::State::Lists": scratch / "lists",
        "Dir::State::status": scratch / "status",
        "Dir::Cache": scratch / "cache",
        "APT::Architecture": "amd64",
        "APT::Architectures": "amd64",
        "APT::Sandbox::User": "root",
        "Acquire::Retries": "3",
    }
    return [word for key, value in options.items() for word in ("-o", f"{key}={value}")]


def run(command, **more):
    done = subprocess.run(command, text=True, capture_output=True, timeout=300, check=False, **more)
    if done.returncode != 0:
        raise Unavailable(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


def unpacked(scratch):
    """The program in `scratch`, if it is there."""
    found = (path for path in scratch.glob("unpacked/usr/lib/**/nvidia-smi") if path.is_file())
    return next(found, None)


def fetch(scratch):
    """The path of the program; fetched once into `scratch`."""
    scratch = pathlib.Path(scratch)
    program = unpacked(scratch)
    if program:
        return program
    if platform.machine() != "x86_64":
        raise Unavailable("Debian has nvidia-smi 550 for amd64")
    scratch.mkdir(parents=True, exist_ok=True)
    signed = f"[signed-by={KEYRING}] " if pathlib.Path(KEYRING).exists() else ""
    (scratch / "sources.list").write_text(f"deb {signed}{debian_mirror()} {SUITE} non-free\n")
    options = private_apt(scratch)
    run(["apt-get", *options, "update"])
    run(["apt-get", *options, "download", PACKAGE], cwd=scratch)
    archive = next(iter(scratch.glob(f"{PACKAGE}_{VERSION}-*_amd64.deb")), None)
    if not archive:
        raise Unavailable(f"{SUITE} has another version than {VERSION}")
    run(["dpkg-deb", "-x", str(archive), str(scratch / "unpacked")])
    program = unpacked(scratch)
    if not program:
        raise Unavailable("the package holds no nvidia-smi")
    return program


if __name__ == "__main__":
    import sys

    print(fetch(sys.argv[1]))
