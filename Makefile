# One door for each need. `make` alone lists them.

CARGO ?= cargo

.PHONY: help check stubs

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make check   formatting, lints, unit tests, arrows between rooms, licences
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --workspace --locked --quiet
	$(CARGO) xtask arrows
	$(CARGO) xtask licences

## make stubs   the daemons, the command and every library, in target/release and target/release/lib
stubs:
	$(CARGO) xtask stubs
	$(CARGO) xtask verify
