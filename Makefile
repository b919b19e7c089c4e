# SPDX-License-Identifier: MIT
#
# `make help` lists the targets. Everything is built below build/; downloads and
# finished QEMU and kernel builds are kept in ${TESSERA_CACHE:-~/.cache/tessera}.

BUILD := $(CURDIR)/build
GUEST_BIN := $(BUILD)/guest-bin
SUITE ?=
LONG ?=
ifneq ($(LONG),)
export TESSERA_LONG := $(LONG)
endif
J := $(or $(JOBS),$(shell nproc))

.NOTPARALLEL:
.PHONY: help deps qemu qemu-asan qemu-tsan kernels kernel-stock kernel-debug module module-debug userspace \
	guest-tests guest-image run run-desktop check check-lint check-lib check-qtest check-tsan check-kunit check-guest-stock \
	check-guest-debug check-igt check-lib-run check-host-run check-scripts-run bench mutants html format clean

help: ## list the targets
	@echo 'Tessera: a virtual GPU, its driver and its tests. Targets:'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "%-26s %s\n", $$1, $$2 }'
	@echo
	@echo 'Variables: IMAGES=DIR (run), MODEL=patched|vm (run), SUITE=tier-or-test (check), LONG=1 (check), JOBS=N (builds),'
	@echo '  QEMU=10.0|11.1 (all that build or run QEMU), REFRESH=1 (look for newer QEMU and kernel packages), TESSERA_CACHE=DIR,'
	@echo '  TESSERA_ACCEL=kvm|tcg (guest).'
	@echo 'The daily tool: scripts/guest --help'

deps: ## install the packages that build and tests need
	@scripts/deps.sh

qemu: ## QEMU with the device, in build/qemu/ (QEMU=11.1: build/qemu-11.1/)
	@scripts/build-qemu.sh

qemu-asan: ## the same, the device under AddressSanitizer and UBSan, in build/qemu-asan/
	@scripts/build-qemu.sh asan

qemu-tsan: ## the same, the device under ThreadSanitizer, in build/qemu-tsan/
	@scripts/build-qemu.sh tsan

kernel-stock: ## fetch and unpack Debian's 6.12 kernel and headers
	@scripts/fetch-stock-kernel.sh

kernel-debug: ## build the debug kernel (KASAN, lockdep, kmemleak, UBSAN)
	@scripts/build-debug-kernel.sh

kernels: kernel-stock kernel-debug ## both kernels

module: kernel-stock ## the driver out of tree, against the stock kernel's headers
	@scripts/build-module.sh stock

module-debug: kernel-debug ## the driver and its KUnit tests for the debug kernel
	@scripts/build-module.sh debug

userspace: ## the library, tools, demo and benchmark
	@scripts/build-userspace.sh userspace

guest-tests: ## the test programs that run in the guest
	@scripts/build-userspace.sh tests

guest-image: qemu module userspace guest-tests ## all that the stock guest needs, and its initramfs
	@scripts/build-guest-image.sh stock

run: ## render real images on the virtual GPU: build/run/scene.png
	@scripts/run-demo.sh

run-desktop: ## Debian's display programs on its screen, looked at from outside: build/desktop/
	@scripts/run-desktop.sh

check: ## all tests (SUITE=tier or test for a part)
	@scripts/check.sh $(SUITE)

check-lint: ## only the style and interface checks
	@scripts/check.sh lint

check-lib: ## only the library's and the pure logic's tests on this machine
	@scripts/check.sh lib

check-qtest: ## only the device's tests without a guest
	@scripts/check.sh qtest

check-tsan: ## the device's tests and a guest under ThreadSanitizer (10 minutes)
	@scripts/check.sh tsan

check-kunit: ## only the driver's unit tests
	@scripts/check.sh kunit

check-guest-stock: ## only the guest tests on the stock kernel
	@scripts/check.sh guest-stock

check-guest-debug: ## only the guest tests on the debug kernel
	@scripts/check.sh guest-debug

check-igt: ## IGT's display tests in guests: IGT_DIR=a finished build, NAMES=…, RESUME=1, STEADY=1, KERNEL=debug
	@scripts/check-igt.sh

check-lib-run:
	@CMOCKA_MESSAGE_OUTPUT=TAP $(MAKE) -s -k -C userspace BUILD=$(BUILD)/userspace \
		GUEST_BIN=$(GUEST_BIN) check

check-host-run:
	@$(MAKE) -s -C tests/host BUILD=$(BUILD)/host check

check-scripts-run:
	@scripts/tests/run.py

bench: ## measure: a table, and build/bench.json
	@scripts/run-bench.sh

mutants: ## which mistakes the tests catch: DIR=folder of patches
	@scripts/mutants.py "$(DIR)"

html: ## the documents, in build/html
	@scripts/build-docs.sh

format: ## apply .clang-format to the userspace C
	@scripts/deps.sh lint
	@git ls-files -co --exclude-standard 'userspace/*.[ch]' 'tests/*.[ch]' | xargs -r clang-format -i

clean: ## remove build/ (the cache stays)
	rm -rf $(BUILD)
