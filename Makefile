# SPDX-License-Identifier: GPL-2.0-only
# Builds, installs and tests softtape; "make help" lists the targets. DKMS does not use this file: see dkms.conf.

PREFIX ?= /usr/local
DESTDIR ?=
KDIR ?= /lib/modules/$(shell uname -r)/build
V ?= 0
CARD ?=

# The recipes take both apart into words; "rm -rf" with half a name would remove what is somebody's.
$(foreach name,DESTDIR PREFIX,$(if $(filter-out 1,$(words x$($(name))x)),$(error $(name)='$($(name))': a blank in it is not supported)))

VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"$$/\1/p' dkms.conf)
BUILD := build
Q := $(if $(filter 1,$(V)),,@)

# DKMS appends KERNELRELEASE to its own make of kmod/Kbuild; a value from the environment means nothing here.
unexport KERNELRELEASE

# Kernels built with clang need their modules built with clang too; DKMS sees to that itself.
LLVM_FLAG = $(if $(shell grep -s '^CONFIG_CC_IS_CLANG=y' $(KDIR)/include/config/auto.conf $(KDIR)/.config),LLVM=1)

# What a DKMS build needs, computed, so that a new source file cannot be forgotten.
DKMS_DIR = /usr/src/softtape-$(VERSION)
DKMS_KMOD = kmod/Kbuild $(sort $(filter-out %.mod.c,$(wildcard kmod/*.[ch])))

# Installed files, "source:target:mode". udev, systemd, tmpfiles and modules-load search these folders below /usr and
# below /usr/local, and nowhere else that a package or a make install may write to.
FILES = \
	user/softtape:$(PREFIX)/bin/softtape:755 \
	user/softtape.schema.json:$(PREFIX)/share/softtape/softtape.schema.json:644 \
	udev/softtape.conf:$(PREFIX)/share/softtape/softtape.conf:644 \
	$(BUILD)/70-softtape.rules:$(PREFIX)/lib/udev/rules.d/70-softtape.rules:644 \
	udev/softtape@.service:$(PREFIX)/lib/systemd/system/softtape@.service:644 \
	udev/softtape-metrics.service:$(PREFIX)/lib/systemd/system/softtape-metrics.service:644 \
	udev/softtape-metrics.timer:$(PREFIX)/lib/systemd/system/softtape-metrics.timer:644 \
	udev/softtape-metrics.path:$(PREFIX)/lib/systemd/system/softtape-metrics.path:644 \
	udev/softtape-ready.service:$(PREFIX)/lib/systemd/system/softtape-ready.service:644 \
	udev/softtape-ready.target:$(PREFIX)/lib/systemd/system/softtape-ready.target:644 \
	$(BUILD)/softtape.catalog:$(PREFIX)/lib/systemd/catalog/softtape.catalog:644 \
	$(BUILD)/softtape.zh_CN.catalog:$(PREFIX)/lib/systemd/catalog/softtape.zh_CN.catalog:644 \
	udev/softtape.tmpfiles:$(PREFIX)/lib/tmpfiles.d/softtape.conf:644 \
	udev/modules-load.conf:$(PREFIX)/lib/modules-load.d/softtape.conf:644 \
	packaging/kernel-hook:/etc/kernel/postinst.d/dkms-softtape:755 \
	packaging/kernel-hook:/etc/kernel/header_postinst.d/dkms-softtape:755 \
	packaging/initramfs-hook:$(INITRAMFS_HOOKS)/softtape:755 \
	$(BUILD)/man/softtape.1:$(PREFIX)/share/man/man1/softtape.1:644 \
	$(BUILD)/man/softtape.4:$(PREFIX)/share/man/man4/softtape.4:644 \
	$(BUILD)/man/softtape.conf.5:$(PREFIX)/share/man/man5/softtape.conf.5:644 \
	$(BUILD)/completions/bash:$(PREFIX)/share/bash-completion/completions/softtape:644 \
	$(BUILD)/completions/zsh:$(ZSH_FUNCTIONS)/_softtape:644 \
	$(BUILD)/completions/fish:$(PREFIX)/share/fish/vendor_completions.d/softtape.fish:644

# Two that are searched elsewhere for a package than for an administrator.
PACKAGED := $(filter /usr,$(PREFIX))
INITRAMFS_HOOKS ?= $(if $(PACKAGED),/usr/share,/etc)/initramfs-tools/hooks
ZSH_FUNCTIONS ?= $(PREFIX)/share/zsh/$(if $(PACKAGED),vendor-completions,site-functions)

install_one = install -D -m $(word 3,$(1)) $(word 1,$(1)) $(DESTDIR)$(word 2,$(1))

export DESTDIR PREFIX KDIR V VERSION

PAGES := $(patsubst man/%.scd,$(BUILD)/man/%,$(wildcard man/*.scd))
COMPLETIONS := $(addprefix $(BUILD)/completions/,bash zsh fish)

CATALOGS := $(BUILD)/softtape.catalog $(BUILD)/softtape.zh_CN.catalog

.PHONY: helper
helper: program $(BUILD)/70-softtape.rules $(PAGES) $(COMPLETIONS) $(CATALOGS) ## build the program, its man pages and completions, the udev rule; needs no kernel headers (default target)

.PHONY: program
program: ## build the program user/softtape alone
	$(Q)+$(MAKE) --no-print-directory -C user

user/softtape: program ;

# What the program knows about itself ends up in both.
$(CATALOGS): user/softtape
	$(Q)user/softtape explain --output catalog --lang $(if $(findstring zh_CN,$@),zh,en) > $@.new && mv $@.new $@

$(BUILD)/man/%: man/%.scd scripts/man scripts/cards kmod/card_list.h dkms.conf user/softtape
	$(Q)mkdir -p $(@D)
	$(Q)scripts/man $< > $@.new && mv $@.new $@

$(COMPLETIONS): $(BUILD)/completions/%: scripts/completions user/softtape
	$(Q)mkdir -p $(@D)
	$(Q)user/softtape --help | scripts/completions $* > $@.new && mv $@.new $@

$(BUILD)/70-softtape.rules: udev/70-softtape.rules.in kmod/card_list.h scripts/cards
	$(Q)mkdir -p $(BUILD)
	$(Q)ids=$$(scripts/cards | sed 's/\t.*//; s/^/0x/' | paste -sd '|') && test -n "$$ids" && \
		sed "s/@IDS@/$$ids/" $< > $@.new && mv $@.new $@

.PHONY: module
module: ## build kmod/softtape.ko for the kernel of KDIR=/lib/modules/VERSION/build (the running one if not given)
	$(Q)test -f $(KDIR)/Makefile || { \
		echo "make module: no kernel headers at $(KDIR): install them or name another folder with KDIR=" >&2; exit 1; }
	$(Q)+$(MAKE) $(if $(filter 1,$(V)),V=1,-s) -C $(KDIR) M=$(CURDIR)/kmod $(LLVM_FLAG) modules

.PHONY: deps
deps: ## install the Debian packages that install, demo and test need; the only target that calls apt
	$(Q)scripts/deps all

.PHONY: demo
demo: ## show the whole story on an emulated card in a virtual machine; CARD=FILE takes another card than the P104-100
	$(Q)scripts/deps demo
	$(Q)+$(MAKE) --no-print-directory helper
	$(Q)tests/boot/demo $(if $(CARD),"$(CARD)")

.PHONY: test
test: ## everything that CI runs: static gates, unit tests, cases, DKMS builds and install, packages, KUnit, virtual machine scenarios
	$(Q)scripts/deps test
	$(Q)scripts/test check user dkms packages kunit module boot

.PHONY: check
check: ## the static gates alone: warnings, sparse, checkpatch, clang-tidy, cppcheck, shellcheck, house rules
	$(Q)scripts/check

.PHONY: kunit
kunit: ## the module's KUnit suites on Debian's stock kernels 6.1, 6.12 and newest 7.x, with their raw KTAP
	$(Q)scripts/deps test
	$(Q)tests/kunit/run

.PHONY: prove
prove: ## the module at length: five kernels, one that watches itself, failing memory, hostile cards, fuzzers; 20 minutes once its kernels are built
	$(Q)scripts/deps test
	$(Q)PROVE=1 scripts/test kunit fuzz module

.PHONY: prove-all
prove-all: prove ## and all else that is too long for CI: sanitizers, DKMS on every kernel, packages in clean trees, Slurm and the node exporter, every scenario
	$(Q)PROVE=1 scripts/test check user san dkms packages fleet boot

.PHONY: coverage
coverage: ## lines and branches of kmod/ that KUnit and the scenarios run on the debug kernel, and why not the rest: build/prove/coverage.txt
	$(Q)scripts/deps test
	$(Q)rm -f build/prove/coverage.txt
	$(Q)tests/prove/run coverage; status=$$?; cat build/prove/coverage.txt && exit $$status

.PHONY: fuzz
fuzz: ## feed the readers of logs and dumps and the JSON writer with anything, SECONDS=60 each (clang)
	$(Q)+$(MAKE) --no-print-directory -s -j2 -C tests/fuzz $(if $(SECONDS),SECONDS=$(SECONDS))

.PHONY: bench
bench: helper ## sizes of the module and the helper, cost of a status and of many simulated checks; KDIR= as for module
	$(Q)scripts/bench

.PHONY: install
ifeq ($(DESTDIR),)
install: ## install and start everything on this host: packages, files, DKMS module; with DESTDIR=DIR only the files
	$(Q)scripts/host check-prefix
	$(Q)scripts/deps install
	$(Q)+$(MAKE) --no-print-directory helper
	$(Q)scripts/host stop
	$(Q)+$(MAKE) --no-print-directory install-files
	$(Q)scripts/host dkms-install
	$(Q)scripts/host start
else
install: helper
	$(Q)+$(MAKE) --no-print-directory install-files
endif

.PHONY: uninstall
uninstall: ## remove all that install made, on this host or below DESTDIR
ifeq ($(DESTDIR),)
	$(Q)scripts/host check-prefix
	$(Q)scripts/host stop
	$(Q)scripts/host unload
	$(Q)scripts/host dkms-remove
endif
	$(Q)scripts/host remove-files $(foreach f,$(FILES),$(word 2,$(subst :, ,$(f))))
ifeq ($(DESTDIR),)
	$(Q)scripts/host forget
endif

.PHONY: install-files
install-files: dkms-tree ## only copy the files, below DESTDIR if given; build the helper first
	$(Q)set -e; $(foreach f,$(FILES),$(call install_one,$(subst :, ,$(f)));)
	$(Q)test -e $(DESTDIR)/etc/softtape.conf || install -D -m 644 udev/softtape.conf $(DESTDIR)/etc/softtape.conf

.PHONY: deb
deb: ## build the Debian packages softtape and softtape-dkms into build/deb
	$(Q)scripts/deps deb
	$(Q)scripts/deb

.PHONY: dkms-tree
dkms-tree: ## only copy the DKMS sources to DESTDIR/usr/src/softtape-VERSION
	$(Q)rm -rf $(DESTDIR)$(DKMS_DIR)
	$(Q)install -d $(DESTDIR)$(DKMS_DIR)/kmod
	$(Q)install -m 644 dkms.conf LICENSE $(DESTDIR)$(DKMS_DIR)
	$(Q)install -m 644 $(DKMS_KMOD) $(DESTDIR)$(DKMS_DIR)/kmod

.PHONY: dkms-install
dkms-install: dkms-tree ## register the module with DKMS and build it for every installed kernel with headers
	$(Q)scripts/host dkms-install

.PHONY: dkms-remove
dkms-remove: ## remove every registered version of the module from DKMS
	$(Q)scripts/host dkms-remove

.PHONY: clean
clean: ## remove what was built
	$(Q)+$(MAKE) --no-print-directory -C user clean
	$(Q)rm -rf $(BUILD)
	$(Q)cd kmod && rm -rf *.o *.ko *.mod *.mod.c .*.cmd *.symvers modules.order .tmp_versions

.PHONY: help
help: ## this list
	@echo "Targets of softtape $(VERSION) (variables: PREFIX DESTDIR KDIR CARD V=1):"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | \
		while IFS="$$(printf '\t')" read -r name text; do printf '  %-14s %s\n' "$$name" "$$text"; done
