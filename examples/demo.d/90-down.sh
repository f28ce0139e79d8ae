#!/bin/bash
# ghostrack down: no mount, process, socket, file or shared memory is left
set -euo pipefail
ghostrack down

left() {
  grep -F "$GHOSTRACK_RUN_DIR" /proc/self/mountinfo | sed 's/^/mount: /'
  grep -F "$GHOSTRACK_RUN_DIR" /proc/net/unix | sed 's/^/socket: /'
  ls -d "$GHOSTRACK_RUN_DIR" 2>/dev/null | sed 's/^/file: /'
  ls /dev/shm | comm -13 "$SCRATCH/shm.before" - | grep -i ghost | sed 's/^/shared memory: /'
  local process
  for process in /proc/[0-9]*; do
    if tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -F "$GHOSTRACK_RUN_DIR" | grep -q ghost; then
      echo "process: ${process#/proc/}"
    fi
  done
}

# A process that was told to end may need a moment to.
for _ in $(seq 50); do
  found=$(left || true)
  [ -n "$found" ] || { echo "nothing is left"; exit 0; }
  sleep 0.1
done
echo "$found" >&2
exit 1
