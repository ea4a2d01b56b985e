# Attacks on the real binary (docs/attacks.md).
#   make attacks                        all, also in the rig's virtual machine: up to an hour
#   make attacks ATTACKS="--only use/"  some
#   make attacks-quick                  those of every test run: two minutes
# The debug build, which checks itself; what moves data is optimised in it, too (.cargo/config.toml).

ATTACKED := $(CARGO_TARGET_DIR)/debug/narrows
GUEST_ATTACKS := $(CARGO_TARGET_DIR)/rig/attacks

.PHONY: attacks attacks-quick attacks-build

attacks-build: toolchain
	@$(CARGO) test --locked --workspace --quiet --test attacks -- --install $(GUEST_ATTACKS)

attacks: attacks-build rig-setup ## attack the binary: contents, users, journals, races, kills, bytes, directories, bounds; also in virtual machines
	@attacks/run.sh "$(ATTACKED)" $(ATTACKS)

attacks-quick: attacks-build ## the attacks of every test run
	@$(CARGO) test --locked --workspace --quiet --test attacks -- --quick --binary $(ATTACKED) $(ATTACKS)
