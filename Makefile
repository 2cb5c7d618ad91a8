# SPDX-License-Identifier: MIT
#
# make            builds build/weir and build/weir-gate
# make install    DESTDIR, PREFIX
# make demo       three runs in front of the reader: promoted, blocked, blocked
# make check      all tests; installs what they need through apt
# make soak       all cases on all kernels, and long races of the gate (more than an hour)
# make bench      tables of costs with limits
# make lint       clang-format, clang-tidy, cppcheck, shellcheck, layers, headers
# make format     clang-format in place
#
# WERROR=1 makes warnings errors (CI does). SAN=1 builds both programs with the address and the
# undefined behaviour sanitizer into build/sanitized.

CC ?= gcc
CLANG ?= clang-14
LLVM_STRIP ?= llvm-strip-14
BPFTOOL ?= bpftool
PREFIX ?= /usr/local
O ?= $(if $(SAN),build/sanitized,build)
MAKEFLAGS += --no-builtin-rules

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

BUILD_DEPS := gcc make clang-14 llvm-14 bpftool libbpf-dev libelf-dev zlib1g-dev \
	libgit2-dev libssl-dev libyaml-dev libjansson-dev libcap-ng-dev libdeflate-dev \
	libunistring-dev
CHECK_DEPS := git openssh-client in-toto libcmocka-dev libclang-rt-14-dev clang-format-14 \
	clang-tidy-14 cppcheck shellcheck perl

ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wundef -Wvla -Wpointer-arith -Wwrite-strings -Wformat=2 -Wimplicit-fallthrough \
	$(if $(WERROR),-Werror)
# Fortified calls hide accesses from the sanitizers.
HARDEN := -fno-common -fno-strict-aliasing -fstack-protector-strong -fstack-clash-protection \
	$(if $(SAN),,-D_FORTIFY_SOURCE=2) -fPIE
SANITIZE := -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS ?= $(if $(SAN),-O1 -g,-O2 -g)
DEFINES := -DWEIR_LIBDEFLATE
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE $(DEFINES) -I. $(WARN) $(HARDEN) $(CFLAGS) \
	$(if $(SAN),$(SANITIZE)) \
	-ffile-prefix-map=$(CURDIR)=. -fdebug-prefix-map=$(CURDIR)=.
LDFLAGS += -pie -Wl,-z,relro,-z,now,-z,noexecstack $(if $(SAN),$(SANITIZE))

BPF_CFLAGS := -std=gnu11 -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) \
	-Ivmlinux/$(ARCH) -I. -Wall -Wextra -Wno-unused-parameter -Wno-missing-declarations \
	-Wno-sign-compare -Werror -ffile-prefix-map=$(CURDIR)=. -fdebug-compilation-dir=.

BASE_SRC := $(sort $(wildcard user/base/*.c))
COMMON_SRC := $(BASE_SRC) $(sort $(wildcard user/event/*.c user/policy/*.c user/trace/*.c user/tree/*.c))
WEIR_SRC := $(sort $(wildcard user/kern/*.c user/pipe/*.c user/report/*.c user/cli/*.c))
GATE_SRC := $(sort $(wildcard writeback/*.c))

obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
COMMON_OBJ := $(call obj,$(COMMON_SRC))
WEIR_OBJ := $(call obj,$(WEIR_SRC))
GATE_OBJ := $(call obj,$(GATE_SRC))

COMMON_LIBS := -lcrypto -lyaml -ljansson -lcap-ng -lz
WEIR_LIBS := -lbpf -lelf $(COMMON_LIBS)
GATE_LIBS := -lgit2 -ldeflate -lunistring $(COMMON_LIBS)

.PHONY: all
all: $(O)/weir $(O)/weir-gate

# What the build needs. A stamp keeps later builds from asking dpkg again.
$(O)/deps.stamp: Makefile
	@mkdir -p $(O)
	@tests/vm/hostdeps "building weir" $(BUILD_DEPS)
	@touch $@

$(O)/check-deps.stamp: Makefile $(O)/deps.stamp
	@tests/vm/hostdeps "the tests of weir" $(CHECK_DEPS)
	@tests/vm/hostdeps
	@touch $@

# All programs whole, for any kernel; and split from the steps that they share.
# Those of source "syscall" are an object of their own.
# DWARF goes, BTF stays.
BPF_OBJECTS := $(O)/weir.bpf.o $(O)/split.bpf.o $(O)/sys.bpf.o
$(O)/split.bpf.o: BPF_CFLAGS += -DWEIR_STUBS
$(O)/sys.bpf.o: BPF_CFLAGS += -DWEIR_SYSCALLS
$(BPF_OBJECTS): bpf/weir.bpf.c | $(O)/deps.stamp
	$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@
	$(LLVM_STRIP) -g $@

$(O)/%.skel.h: $(O)/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# Names the pins: a run need not hash the objects.
$(O)/objects_digest.h: $(BPF_OBJECTS)
	cat $^ | sha256sum | sed 's/\([0-9a-f]*\).*/#define OBJECTS_DIGEST "\1"/' > $@

$(O)/obj/%.o: %.c | $(O)/deps.stamp
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# The skeletons are the headers that are made; their own warnings are not ours.
$(O)/obj/user/kern/objects.o: $(BPF_OBJECTS:.bpf.o=.skel.h) $(O)/objects_digest.h
$(O)/obj/user/kern/objects.o: ALL_CFLAGS += -Wno-shadow -I$(O)

$(O)/weir: $(WEIR_OBJ) $(COMMON_OBJ)
	$(CC) $(LDFLAGS) -o $@ $^ $(WEIR_LIBS)

$(O)/weir-gate: $(GATE_OBJ) $(COMMON_OBJ)
	$(CC) $(LDFLAGS) -o $@ $^ $(GATE_LIBS)

.PHONY: install
install: all install-unit
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(O)/weir $(O)/weir-gate $(DESTDIR)$(PREFIX)/bin/
	install -m 644 user/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -d $(DESTDIR)$(PREFIX)/share/weir/profiles
	install -m 644 user/profiles/*.yaml $(DESTDIR)$(PREFIX)/share/weir/profiles/

.PHONY: install-unit
install-unit:
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's#@BINDIR@#$(PREFIX)/bin#' user/systemd/weir-gate.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/weir-gate.service
	chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/weir-gate.service

.PHONY: demo
demo: all
	tests/demo/run

.PHONY: check
check: $(O)/check-deps.stamp
	@tests/checks/all

TAP_IN_VM := /share/weir/tests/checks/tap /share/weir/tests/system
.PHONY: soak
soak: $(O)/check-deps.stamp all
	tests/cases/run
	WEIR_VM_MEM=8192 tests/vm/run -t 2400 -- $(TAP_IN_VM)/soak/ceilings.t
	tests/vm/run -t 1500 -a 'lsm=lockdown,yama preempt=full' -- $(TAP_IN_VM)/source.t
	ROUNDS=1000 POINTS=1000 tests/checks/tap tests/gate/race.t tests/gate/memory.t
	tests/gate/attack

.PHONY: bench
bench: $(O)/check-deps.stamp all
	tests/bench/run

.PHONY: lint
lint: $(O)/check-deps.stamp
	@tests/checks/all 'lint-*'

.PHONY: format
format:
	clang-format-14 -i $(shell git ls-files '*.c' '*.h' | grep -v '^vmlinux/')

# Unit tests with sanitizers: one program for each tests/unit/t_*.c, linked with a library of all
# that is pure in weir, and those that include headers of the gate with the gate's as well.
UNIT_SRC := $(sort $(wildcard tests/unit/t_*.c))
UNIT_BIN := $(patsubst tests/unit/%.c,$(O)/unit/%,$(UNIT_SRC))
UNIT_CFLAGS := -std=gnu11 -D_GNU_SOURCE $(DEFINES) -I. $(WARN) -g -O1 $(SANITIZE)
GATE_LIB_SRC := $(filter-out writeback/main.c,$(GATE_SRC))
SAN_USER_OBJ := $(patsubst %.c,$(O)/san/%.o,$(COMMON_SRC) $(sort $(wildcard user/report/*.c)))
SAN_GATE_OBJ := $(patsubst %.c,$(O)/san/%.o,$(GATE_LIB_SRC))
GATE_TESTS := $(shell grep -l '"writeback/' tests/unit/*.c tests/fuzz/*.c)
san_libs = $(if $(filter $(1),$(GATE_TESTS)),$(O)/san/gate.a) $(O)/san/user.a

$(O)/san/%.o: %.c | $(O)/check-deps.stamp
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -MMD -MP -c $< -o $@

$(O)/san/user.a: $(SAN_USER_OBJ)
$(O)/san/gate.a: $(SAN_GATE_OBJ)
$(O)/san/%.a:
	@rm -f $@
	$(AR) rcs $@ $^

$(O)/unit/%: $(O)/san/tests/unit/%.o $(O)/san/user.a $(O)/san/gate.a
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -o $@ $< $(call san_libs,tests/unit/$*.c) -lcmocka $(GATE_LIBS)

.PHONY: unit unit-build
unit-build: $(UNIT_BIN)
unit: unit-build
	@tests/checks/unit $(UNIT_BIN)

# Fuzzers: libFuzzer with clang, or a replay of the corpus with any compiler.
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(patsubst tests/fuzz/fuzz_%.c,$(O)/fuzz/%,$(FUZZ_SRC))
REPLAY_BIN := $(patsubst tests/fuzz/fuzz_%.c,$(O)/replay/%,$(FUZZ_SRC))

$(O)/replay/%: $(O)/san/tests/fuzz/fuzz_%.o $(O)/san/tests/fuzz/replay_main.o $(O)/san/user.a \
		$(O)/san/gate.a
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -o $@ $(filter %.o,$^) $(call san_libs,tests/fuzz/fuzz_$*.c) $(GATE_LIBS)

$(O)/fuzz/%: tests/fuzz/fuzz_%.c $(COMMON_SRC) $(GATE_LIB_SRC) | $(O)/check-deps.stamp
	@mkdir -p $(@D)
	$(CLANG) -std=gnu11 -D_GNU_SOURCE $(DEFINES) -I. -g -O1 -fsanitize=fuzzer,address,undefined -o $@ \
		$(filter %.c,$^) $(GATE_LIBS)

.PHONY: fuzz replay replay-build
fuzz: $(FUZZ_BIN)
replay-build: $(REPLAY_BIN)
replay: replay-build
	@tests/checks/replay $(REPLAY_BIN)

.PHONY: clean
clean:
	rm -rf $(O)

-include $(shell find $(O) -name '*.d' 2>/dev/null)
