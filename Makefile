# GNU make and any /bin/sh. `make` alone lists what there is.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
SCRIPTS := .ci/need .ci/run packaging/debian/build.sh tests/vm/build.sh tests/let_go.sh tests/private_zfs_fuse.sh tests/hosts/hosts.sh zlang/run/transport/agent.sh zlang/run/transport/fetch.sh
TOOLS  := fio sudo /usr/lib/python3/dist-packages/pip=python3-pip cc=gcc dash bash busybox shellcheck strace fincore=util-linux-extra ps=procps iostat=sysstat compsize=btrfs-compsize smartctl=smartmontools time \
	  mke2fs=e2fsprogs xfs_info=xfsprogs xfs_io=xfsprogs btrfs=btrfs-progs losetup=mount sfdisk=fdisk numactl zfs-fuse \
	  qemu-system-x86_64=qemu-system-x86 debootstrap ssh=openssh-client sshd=openssh-server ip=iproute2 slurmctld slurmd sbatch=slurm-client munged=munge \
	  chromium-headless-shell /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf=fonts-dejavu-core

SHELL  := /bin/sh
# Thousands of short processes start: none compiles what another one has compiled, whatever the machine is set to.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test quick tools vscode vscode-test tree-sitter site check lint format types layers pytest tests-in-guest tests-in-another-guest tests-others coverage test-openzfs newest bless fuzz fuzz-a-minute campaign campaign-a-minute mutants bench rates studies pitfalls clean

help:
	@echo 'make demo     install zlang in $(VENV), run examples/quickstart.zexp, print the results'
	@echo 'make test     run all tests from scratch, as CI does'
	@echo 'make quick    lint, types and the fast tests, in about a minute: run it while you work'
	@echo 'make test-openzfs  run scripts on OpenZFS 2.1 and 2.3 in the kernel, in virtual machines that it builds first'
	@echo 'make check    lint, types and import layers'
	@echo 'make format   format the code, and apply the fixes of ruff'
	@echo 'make bless    write the golden files and the generated pages again; read the diff afterwards'
	@echo 'make coverage run the tests without the virtual machines, and show which lines they reach'
	@echo 'make fuzz     check, plan and format random programs for two hours'
	@echo 'make campaign simulate an hour of power cuts, failing system calls and damaged run folders; writes the score to docs/reliability.md (SECONDS=, SEED=, PLACE=, WORKERS=)'
	@echo 'make mutants  test wrong versions of the code that guards a run and accounts for it: do the tests notice? docs/reliability.md has the score'
	@echo 'make bench    run the benchmarks in bench/'
	@echo 'make rates    measure how often verdicts and intervals are wrong, and write the tables in docs/results.md'
	@echo 'make studies  run the published studies that can run here (root), and write docs/studies.md with its pictures'
	@echo 'make pitfalls measure the wrong and the right way, side by side (root), and write docs/pitfalls.md'
	@echo 'make vscode   build the extension for VS Code, editors/vscode/zlang.vsix (node, npm)'
	@echo 'make vscode-test  try the extension in a real VS Code, with a browser that nobody sees (Node 20)'
	@echo 'make tree-sitter  generate the parser of editors/tree-sitter-zexp after a change of the grammar (node, tree-sitter)'
	@echo 'make site     build the documentation as HTML pages that need no network, site/index.html (URL=: where it will be published)'
	@echo 'make clean    remove what make made; runs/ and results.duckdb stay'

# -- what is installed

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || .ci/need $(PYTHON)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "zlang needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V);" \
	         "if you have a newer one, type:  make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    .ci/need "ensurepip=$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
	@echo 'making $(VENV)'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/zlang.done: pyproject.toml hatch_build.py constraints.txt | $(BIN)/python
	@echo 'installing zlang in $(VENV)'
	@$(PIP) install -c constraints.txt -e '.[plots]'
	@touch $@

$(VENV)/dev.done: pyproject.toml hatch_build.py constraints.txt | $(BIN)/python
	@echo 'installing zlang and what its developers use in $(VENV)'
	@$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/zlang.done

# -- for users

# Measured on a disk: /tmp is often memory. After Ctrl-C the (empty) directory stays, for `zlang resume`.
demo: $(VENV)/zlang.done
	@.ci/need fio
	@for place in "$${TMPDIR:-/var/tmp}" /var/tmp "$$PWD"; do \
	    case $$(stat -f -c %T -- "$$place" 2>/dev/null) in ''|tmpfs|ramfs) ;; *) test -w "$$place" && break ;; esac; \
	done; \
	directory=$$(mktemp -d "$$place/zlang-demo-XXXXXX") && export directory || exit 1; \
	trap : INT TERM; \
	echo "$(BIN)/zlang run examples/quickstart.zexp --set place='\"$$directory\"'"; \
	$(BIN)/zlang run examples/quickstart.zexp --yes --set "place=\"$$directory\""; code=$$?; \
	case $$code in 130|143) ;; *) rm -rf -- "$$directory" ;; esac; \
	case $$code in 0|1|130|143) echo; echo 'zlang is in $(BIN). For this shell, first type:  . $(BIN)/activate' ;; esac; \
	exit $$code

# -- for developers

test: tools $(VENV)/dev.done
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) --output-sync=target check $(PARTS)

tools:
	@.ci/need $(TOOLS)

check: lint types layers

lint: $(VENV)/dev.done
	$(BIN)/ruff check
	$(BIN)/ruff format --check --quiet
	shellcheck $(SCRIPTS)

format: $(VENV)/dev.done
	$(BIN)/ruff check --fix --quiet || true
	$(BIN)/ruff format

types: $(VENV)/dev.done
	$(BIN)/mypy

layers: $(VENV)/dev.done
	$(BIN)/lint-imports

# Several processes, for most tests wait: as one ends, the next in the list begins, so what takes longest comes first. Each is shown at
# its end, with the tests that took longest. The second guest boots from what is built for the first, and the tests before it need none.
# A mount namespace keeps the file systems in use that were mounted where it was made, until it has let go of them. Tests of all folders
# make some, and tests/filesystems and tests/trust notice it: so these mount in namespaces of their own, and tests/zfs comes last.
GUEST   := tests/vm/test_scripts.py
BESIDE  := tests/trust/test_closing.py tests/run
FOLDERS := tests/endtoend tests/trust tests/filesystems tests/docs tests/hosts tests/cli tests/report tests/zfs
PARTS   := tests-in-guest tests-in-another-guest tests-others $(filter-out tests/zfs,$(FOLDERS)) newest fuzz-a-minute campaign-a-minute
JOBS    := 7
.PHONY: $(FOLDERS)

pytest: $(VENV)/dev.done
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) --output-sync=target $(PARTS)

tests-in-guest:
	$(BIN)/pytest --durations=10 $(GUEST)

tests-in-another-guest:
	$(BIN)/pytest --durations=10 $(BESIDE) tests/vm --ignore=$(GUEST)

tests/filesystems: THEN := tests/zfs
tests/filesystems tests/trust: APART := $(if $(filter 0,$(shell id -u)),unshare --mount)
$(FOLDERS):
	$(APART) $(BIN)/pytest --durations=10 $@ $(THEN) $(BESIDE:%=--ignore=%)

tests-others:
	$(BIN)/pytest --durations=10 $(patsubst %,--ignore=%,tests/vm $(FOLDERS) $(BESIDE))

coverage: $(VENV)/dev.done
	$(BIN)/pytest --ignore=tests/vm --cov --cov-report=term

# Of each stage what takes little processor time, and nothing that mounts, attaches or is root.
SLOW := tests/syntax/test_robust.py tests/plan/test_survey.py tests/run/test_foreign.py tests/run/test_sequential.py tests/space/test_space.py \
        tests/plan/test_alone_in_a_list.py tests/plan/test_events.py tests/plan/test_groups.py tests/plan/test_planned_streams.py \
        tests/plan/test_used_kinds.py tests/plan/test_wrappers.py tests/run/test_agent.py tests/run/test_local.py tests/errors/test_errors.py
quick: $(VENV)/dev.done
	$(BIN)/ruff check --quiet
	$(BIN)/mypy
	$(BIN)/pytest -q tests/syntax tests/errors tests/space tests/plan tests/run tests/test_structure.py $(SLOW:%=--ignore=%)

# Both releases; the tests have the guest of the first one only.
test-openzfs: tools $(VENV)/dev.done
	ZLANG_VM_RELEASES='2.1 2.3' $(BIN)/pytest -v tests/vm

# constraints.txt has the oldest DuckDB that is supported; these are the newest, and of all else that zlang uses. Hostile folders
# and how fast a report grows are the same with them.
newest: $(VENV)/dev.done
	@$(PIP) install --upgrade --target $(VENV)/newest \
	    $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"])')
	PYTHONPATH=$(VENV)/newest $(BIN)/pytest -q tests/store tests/report --ignore=tests/report/test_browser.py \
	    --ignore=tests/store/test_hostile_folders.py -k 'not grows_no_faster'

bless: $(VENV)/dev.done
	for generator in tools/generate_*.py; do $(BIN)/python "$$generator" || exit 1; done
	BLESS=1 $(BIN)/pytest -q $$(grep -rl --include='test_*.py' BLESS tests)
	git diff --stat

# Every hour has another seed, which is printed.
# What breaks is left in a file here.
fuzz: $(VENV)/atheris.done
	$(BIN)/python bench/robust.py 3600 "$$(date +%s)"
	$(BIN)/python tests/fuzz_programs.py -max_total_time=3600

# The same seed each time: what a change breaks is found, and nothing else stops it.
fuzz-a-minute: $(VENV)/atheris.done
	$(BIN)/python tests/fuzz_programs.py -max_total_time=60 -seed=1 -print_final_stats=1 -verbosity=0

$(VENV)/atheris.done: $(VENV)/dev.done
	@$(PIP) install 'atheris>=3,<4'
	@touch $@

# Another seed each time, which is printed. In memory (PLACE=/dev/shm) it tries more.
SECONDS ?= 3600
SEED    ?= $(shell date +%s)
campaign: tools $(VENV)/dev.done
	$(BIN)/python tests/trust/campaign.py --seconds $(SECONDS) --seed $(SEED) $(if $(PLACE),--place $(PLACE)) $(if $(WORKERS),--workers $(WORKERS)) --page docs/reliability.md

# The same seed each time. One process is enough: `make fuzz-a-minute` takes another processor meanwhile.
campaign-a-minute: tools $(VENV)/dev.done
	$(BIN)/python tests/trust/campaign.py --seconds 60 --seed 1 --workers 1

# Every wrong version of the parts that guard and account for a run, one after the other: ten minutes of CPU. Some look for the
# key that seals runs in the wrong place, hence another home.
mutants: $(VENV)/mutants.done
	rm -rf mutants
	HOME=$$(mktemp -d) PATH="$$PWD/$(BIN):$$PATH" CI=1 nice -n 15 mutmut run --max-children 1
	$(BIN)/python tools/mutants.py

$(VENV)/mutants.done: $(VENV)/dev.done
	@$(PIP) install -c constraints.txt -e '.[mutants]'
	@touch $@

# The extension for VS Code, editors/vscode/zlang.vsix: types, its grammar's tests, the package. It needs node and npm.
vscode: $(VENV)/dev.done
	$(BIN)/python tools/generate_textmate.py
	cd editors/vscode && npm ci --no-audit --no-fund && npm run package

# The extension in a real VS Code. It needs what `make vscode` needs with Node 20, and a C++ compiler for the terminal.
CODE := editors/vscode/tests/code
vscode-test: tools vscode
	npm install --prefix $(CODE) --ignore-scripts --no-save --no-audit --no-fund code-server@4.100.3
	cd $(CODE)/node_modules/code-server/lib/vscode && npm install --ignore-scripts --omit=dev --no-audit --no-fund \
	    && ln -sfn node_modules node_modules.asar && cd node_modules/node-pty && npx --yes node-gyp rebuild
	$(BIN)/pytest -v editors/vscode/tests

# The parser in C of the grammar for other editors. It needs node, and tree-sitter's command: `cargo install tree-sitter-cli`.
tree-sitter: $(VENV)/dev.done
	$(BIN)/python tools/generate_tree_sitter.py
	cd editors/tree-sitter-zexp && tree-sitter generate && sha256sum grammar.js src/parser.c | cut -d' ' -f1 >src/parser.sha256

site: $(VENV)/dev.done
	$(BIN)/python tools/site.py $(URL)

# Half an hour of one core, and seven minutes for the effects. The estimates are measured by bench/estimate.py --write, which needs root.
rates: $(VENV)/dev.done
	@for name in verdicts effects intervals expectations until find findings pace; do $(BIN)/python bench/$$name.py --write || exit 1; done

bench: $(VENV)/dev.done
	@for program in $(filter-out bench/measure.py bench/bare_ingest.py bench/estimate.py bench/coordinator.py,$(wildcard bench/*.py)); do echo "== $$program"; $(BIN)/python "$$program" || exit 1; done

# What was measured stays in STUDIES; it has to be on a disk.
STUDIES ?= /var/tmp/zlang-studies
studies: tools $(VENV)/dev.done
	$(BIN)/python tools/studies.py run $(STUDIES)
	$(BIN)/python tools/studies.py page $(STUDIES)

# An expectation that does not hold is an error here: the page is not written.
PITFALLS ?= /var/tmp/zlang-pitfalls
pitfalls: tools $(VENV)/dev.done
	$(BIN)/python tools/pitfalls.py run $(PITFALLS)
	$(BIN)/python tools/pitfalls.py page $(PITFALLS)

clean:
	rm -rf $(VENV) dist site mutants .coverage .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	rm -f zlang/syntax/tables.bin zlang/check/library.bin
	find zlang tests tools bench -name __pycache__ -type d -prune -exec rm -rf {} +
