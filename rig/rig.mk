# The kernel VM rig: boots real kernels with known limits and checks that narrows names them.
#   make rig                    the scenarios of every day
#   make rig SCENARIO=name      one (or several, quoted)
#   make rig RIG_FLAGS=--prove  checks the injected limits with fio instead of running narrows
#   make rig KERNEL=linux-image-6.12.9+deb12-amd64  boots the kernel of that package
#   make rig-full               all scenarios, those that compare narrows with other tools included, with a release build (make test-all)

.PHONY: rig rig-full rig-setup

rig-setup:
	rig/setup.sh $(KERNEL)

rig: rig-setup ## boot real kernels with known limits: SCENARIO=name (those of every day)
	$(CARGO) test --locked --workspace --quiet --test rig -- $(if $(KERNEL),--kernel $(KERNEL)) $(RIG_FLAGS) $(SCENARIO)

rig-full: rig-setup build ## the same with all scenarios: comparisons with other tools, and what takes many minutes
	$(CARGO) test --locked --quiet --test rig -- --full --binary $(NARROWS) $(if $(KERNEL),--kernel $(KERNEL)) $(RIG_FLAGS) $(SCENARIO)
