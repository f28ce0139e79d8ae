#!/bin/bash
# nvidia-smi: nothing runs yet
set -euo pipefail
ghostrack run -- nvidia-smi
