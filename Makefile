# Two commands do all the set-up on a fresh Debian or Ubuntu machine: `make run` and `make test`.
CARGO ?= cargo
NARROWS := target/release/narrows
# 1 means "findings", which is an answer and not a failure.
FINDINGS_ARE_FINE = || [ $$? -eq 1 ]

.PHONY: run test unit rig bench build toolchain help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: build ## check every storage path of this machine, then measure the one under the current directory
	$(NARROWS) check $(FINDINGS_ARE_FINE)
	$(NARROWS) check . --measure=quick $(FINDINGS_ARE_FINE)

build: toolchain ## build the release binary
	$(CARGO) build --release --locked

toolchain:
	@scripts/toolchain.sh

test: toolchain ## install what the tests need and run all of them, the kernel VM rig included
	scripts/test-tools.sh
	$(CARGO) test --locked
	$(MAKE) rig

unit: toolchain ## only the tests that need no other program
	$(CARGO) test --locked

bench: build ## the load engine beside fio, in one run; writes target/bench/summary.json
	$(CARGO) bench --locked --bench engine

include rig/rig.mk
