#!/bin/bash
# Sees to the tools of the build and the tests: prepare.sh tools | venv
# It installs Debian packages only as root, and Python packages only into .venv.
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=.venv
say() { printf '== %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }

# A Python that can make a virtual environment and reach an index; the system's own comes first.
usable_python() {
  local python
  for python in ${PYTHON:-} /usr/bin/python3 python3; do
    if "$python" -c 'import ssl, venv, ensurepip' 2>/dev/null; then echo "$python"; return; fi
  done
  return 1
}

# torch.compile builds a small C module.
has_headers() {
  local python
  python=$(usable_python) || return 1
  [ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]
}

missing_packages() {
  have cc || echo gcc
  [ -e /usr/include/stdlib.h ] || echo libc6-dev
  usable_python >/dev/null || echo python3-venv
  has_headers || echo python3-dev
  have timeout || echo coreutils
  have setpriv && have taskset || echo util-linux
  have cargo || echo rustup
}

tools() {
  local missing
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
    echo "error: this machine lacks what these Debian packages bring: ${missing[*]}" >&2
    echo "       As root: apt-get install ${missing[*]}; or install the like by your own means, then run make again." >&2
    exit 1
  fi
  say "apt-get install ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq </dev/null
  apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
}

venv() {
  local python stamp=$VENV/installed.txt
  if cmp -s tests/requirements.txt "$stamp"; then return 0; fi
  python=$(usable_python) || { echo "error: no Python with ssl, venv and ensurepip; PYTHON=/path/to/python3 names one" >&2; exit 1; }
  say "Python packages into $VENV (about 3 GB the first time)"
  "$python" -m venv "$VENV"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt </dev/null
  cp tests/requirements.txt "$stamp"
  say "Python packages are there"
}

case "${1:-}" in
  tools | venv) "$1" ;;
  *) echo "usage: $0 tools|venv" >&2; exit 2 ;;
esac
