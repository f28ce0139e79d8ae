#!/bin/bash
# ghostrack up: two trays of four GB200
set -euo pipefail
ls /dev/shm >"$SCRATCH/shm.before"
ghostrack up
ghostrack status
