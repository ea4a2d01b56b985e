# The kernel VM rig: boots real kernels with known limits and checks that narrows names them.
#   make rig                    every scenario
#   make rig SCENARIO=name      one (or several, quoted)
#   make rig RIG_FLAGS=--prove  checks the injected limits with fio instead of running narrows
#   make rig KERNEL=linux-image-6.12.9+deb12-amd64  boots the kernel of that package

.PHONY: rig rig-setup

rig-setup:
	rig/setup.sh $(KERNEL)

rig: rig-setup ## boot real kernels with known limits: SCENARIO=name (all of them)
	$(CARGO) build --locked --profile rig
	$(CARGO) test --locked --quiet --test rig -- $(if $(KERNEL),--kernel $(KERNEL)) $(RIG_FLAGS) $(SCENARIO)
