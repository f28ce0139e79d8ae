# One door for each need. `make` alone lists them.

CARGO ?= cargo
# What of PyTorch links to our libraries; read when it is there.
TORCH = .venv/lib/python3*/site-packages/torch/lib/*.so
# Without a job server: cargo and pip choose their own numbers.
BESIDE := $(MAKE) --no-print-directory -j

.PHONY: help check test test-long demo bench stubs suites tools venv rust

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make check      formatting, lints, unit tests, arrows between rooms, licences
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --workspace --locked --quiet
	$(CARGO) xtask arrows
	$(CARGO) xtask licences

## make test       everything: installs what it needs, builds, checks, then PyTorch and nvidia-smi on an emulated rack
test: tools
	$(BESIDE) venv rust
	$(CARGO) xtask verify $(TORCH)
	tests/suites.sh

## make test-long  the same, with what takes too long for every change
test-long: tools
	$(BESIDE) venv rust
	LONG=1 tests/suites.sh

## make demo       a transformer trains on an emulated GB200 while nvidia-smi watches
demo: tools
	$(BESIDE) venv stubs
	examples/demo.sh

## make bench      figures beside the budgets of the design
bench: tools
	$(BESIDE) venv stubs
	$(CARGO) xtask bench

## make stubs      the daemons, the command and every library, in target/release and target/release/lib
stubs:
	$(CARGO) xtask stubs
	$(CARGO) xtask verify

## make suites     only the Python suites, on what is built; AREAS="pytorch nvml" names some
suites:
	tests/suites.sh $(AREAS)

# The release build serves the suites, the demo and the packages.
rust: stubs
	$(MAKE) --no-print-directory check

tools:
	@tests/prepare.sh tools

venv:
	@tests/prepare.sh venv
