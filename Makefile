# Two commands do all the set-up on a fresh Debian or Ubuntu machine: `make run` and `make test`.
CARGO ?= cargo
CARGO_TARGET_DIR ?= target
NARROWS := $(CARGO_TARGET_DIR)/release/narrows
# Where rustup puts cargo, for a shell that was there before it.
export PATH := $(PATH):$(HOME)/.cargo/bin
# For scripts that call it. A line of a recipe that names MAKE itself is run by `make -n`, too, and must only be shown.
THIS_MAKE := $(MAKE)
# 1 means "findings", which is an answer and not a failure.
FINDINGS_ARE_FINE = || [ $$? -eq 1 ]

.PHONY: rig-fleet fleet-quick help run build build-time toolchain test test-all unit cases captures result-cases mutants accuracy rig bench perf fleet-bench import-bench fuzz fresh dist dist-check dist-twice release-check page page-check pages gallery top-pictures

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: build-time build ## check every storage path of this machine, then measure the one under the current directory
	@echo '$$ narrows'
	@$(NARROWS) $(FINDINGS_ARE_FINE)
	@echo
	@echo '$$ narrows measure .'
	@$(NARROWS) measure . $(FINDINGS_ARE_FINE)

# What follows is cargo's own progress.
build-time:
	@[ -e $(NARROWS) ] || echo 'building narrows: some 4 minutes on two cores with a current Rust, longer with that of Debian 12'

build: toolchain ## build the release binary
	@$(CARGO) build --release --locked

toolchain:
	@scripts/toolchain.sh

test: toolchain ## install what the tests need and run everything of one kind once, in virtual machines, too
	@MAKE="$(THIS_MAKE)" scripts/test.sh

test-all: toolchain ## the same with everything: all scenarios, attacks, hosts and mutants (before a release; hours)
	@MAKE="$(THIS_MAKE)" scripts/test.sh --all

unit: toolchain ## only the tests that need no other program
	$(CARGO) test --locked --workspace

cases: toolchain ## score the verdicts on captures with a known one: CASES=dir (tests/cases); writes target/cases/summary.json
	@$(CARGO) test --locked --quiet --test cases -- $(CASES)

captures: toolchain ## what holds of every capture, asked of each file below CAPTURES=dir: no crash, no ceiling above the kernel's, nothing hidden
	@$(CARGO) test --locked --quiet --test cases -- --captures "$(CAPTURES)"

result-cases: toolchain ## score the audit of other tools' results: CASES=dir (tests/result-cases); writes target/result-cases/summary.json
	@$(CARGO) test --locked --quiet --test result_cases -- $(CASES)

mutants: toolchain ## quote, break, stamp and encode real outputs, COUNT=20000 times: the numbers stay the same; CASES=dir for further outputs
	@NARROWS_MUTANTS="$(or $(COUNT),20000)" NARROWS_RESULTS="$(CASES)" $(CARGO) test --locked --quiet -p narrows-paste --test mutants -- --ignored --nocapture

accuracy: toolchain ## compare predictions with published measurements: PATHS=dir (tests/published); writes target/accuracy/summary.json
	@$(CARGO) test --locked --quiet --package narrows-model --test accuracy -- $(PATHS)

fresh: ## type both commands of the README in a new Debian, made in a chroot: RELEASE=name (trixie), TOOLCHAIN=dir
	@scripts/fresh.sh "$(or $(RELEASE),trixie)" "$(TOOLCHAIN)"

# Both are built at once: each alone, its dependencies have other features, and most crates would be built twice.
bench: toolchain ## the load engine beside fio, in one run, and what `top` costs; writes target/bench/summary.json
	@scripts/peers.sh fio=fio || true
	@$(CARGO) build --release --locked --workspace --bench engine --example top_cost
	$(CARGO) bench --locked --workspace --bench engine
	$(CARGO_TARGET_DIR)/release/examples/top_cost

rig-fleet: toolchain ## the long tests of many hosts, in network namespaces (as root; packages openssh-server, nbdkit; slurmctld, slurmd, slurm-client for srun)
	@$(CARGO) test --locked --test fleet -- --include-ignored --nocapture

fleet-quick: toolchain ## a shared wire and a healthy layout of many hosts, as in `make test`
	@$(CARGO) test --locked --workspace --test fleet -- --nocapture quick::a_limit_and_a_healthy_layout_are_answered_right

perf: build ## time and memory of check beside lstopo, in one run
	@scripts/perf.sh

fleet-bench: build ## time and memory of check --fleet: COUNT=captures (10000), made by varying CASES=dir (tests/cases)
	@scripts/fleet-bench.sh "$(or $(COUNT),10000)" "$(or $(CASES),tests/cases)"

import-bench: build ## time and memory of import beside jq, on fio JSON+ and a log of MB=500 each
	@scripts/import-bench.sh "$(or $(MB),500)"

dist: toolchain ## build what is released, for x86-64 and AArch64: static binary, tarball, wheel, container image, .deb, .rpm; into target/packages
	@scripts/dist.sh

dist-check: ## try what `make dist` made: install, ask, remove; in new Debians, an empty root, a venv, podman, and qemu-user (as root)
	@scripts/dist-check.sh

dist-twice: toolchain ## build what is released twice, at two places, and compare the bytes
	@scripts/dist-twice.sh

release-check: toolchain ## everything that is looked at before a release
	@MAKE="$(THIS_MAKE)" scripts/release-check.sh

pages: toolchain ## look at pages in Chromium: light, dark, 390 pixels, axe, overlaps, PDF: PAGES=dir (made of tests/figures)
	@CARGO="$(CARGO)" scripts/pages.sh $(PAGES)

page: toolchain ## build narrows for a browser, one file: target/page/narrows.html (docs/page.md)
	@CARGO="$(CARGO)" scripts/page.sh

page-check: toolchain ## the same, and try it: the program's answers on all cases, and in Chromium
	@CARGO="$(CARGO)" scripts/page.sh --check

gallery: toolchain ## make the pictures of docs/gallery.md
	@$(CARGO) run --locked --quiet -p narrows-runs --example gallery -- tests/figures docs/gallery $(CARGO_TARGET_DIR)/pages/html

top-pictures: build ## make docs/gallery/top.svg and top-80.svg of `narrows top` in real terminals (tmux), while LOAD='command' runs, with TOP='arguments'
	@CARGO="$(CARGO)" NARROWS="$(abspath $(NARROWS))" scripts/top-pictures.sh "$(LOAD)" "$(TOP)"

fuzz: toolchain ## fuzz the parsers: TARGET=name (all of them), SECONDS=60 for each
	@scripts/fuzz.sh "$(TARGET)" "$(SECONDS)"

include rig/rig.mk
include attacks/attacks.mk
