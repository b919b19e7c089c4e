#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Lint, as TAP. Arguments pick checks:
#
#   scripts/check-style.sh [spdx] [lengths] [widths] [scenes] [shellcheck]
#                          [clang-format] [kernel-doc] [html] [checkpatch] [sparse]
#                          [warnings]
#
# checkpatch and kernel-doc come with the debug kernel's source; sparse and warnings
# build the driver for the stock kernel once more, in build/lint.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

cd "$ROOT"
driver=drivers/gpu/drm/tessera
lint=$BUILD/lint
kernel=$BUILD/kernels/debug
checks=(spdx lengths widths scenes shellcheck clang-format kernel-doc html checkpatch sparse
	warnings)

# What checkpatch asks for and this tree cannot or will not do.
checkpatch_ignore=(
	FILE_PATH_CHANGES       # MAINTAINERS is the kernel's
	SPDX_LICENSE_TAG        # wants GPL-2.0 where MIT is meant; 'spdx' below checks
	LINUX_VERSION_CODE      # base/compat.h is there for that
	MACRO_ARG_REUSE         # static inline where it matters; arguments have no effects
	UAPI_INCLUDE            # include paths of an out-of-tree build
	EMBEDDED_FILENAME       # usage lines may name the file
	CONFIG_DESCRIPTION      # counts lines of help, not what they say
	LONG_LINE_COMMENT       # tables of fields read better in one line each
)

# Names of files by what they are; no names are unusual, so words are enough.
kernel_c() { find $driver kunit include -name '*.[ch]' ! -name '*.mod.c' 2>/dev/null | sort; }
plain_c() { find userspace tests -name '*.[ch]' 2>/dev/null | sort; }
device_c() { find qemu-device -name '*.[ch]' 2>/dev/null | sort; }
# Everything that would be in a commit.
all_files() { git ls-files --cached --others --exclude-standard | while read -r f; do [ -f "$f" ] && echo "$f"; done; }
shell_scripts() {
	all_files | while read -r f; do
		head -c 64 "$f" | head -n 1 | grep -qE '^#!.*\b(ba)?sh\b' && echo "$f"
	done || true
}

number=0
failed=0
# result NAME: a pass if standard input is empty.
result() {
	local text lines
	text=$(cat)
	number=$((number + 1))
	if [ -z "$text" ]; then
		echo "ok $number - style: $1"
		return
	fi
	echo "not ok $number - style: $1"
	lines=$(printf '%s\n' "$text" | wc -l)
	printf '%s\n' "$text" | head -n 60 | sed 's/^/#   /'
	if [ "$lines" -gt 60 ]; then
		echo "#   … $((lines - 60)) more lines"
	fi
	failed=1
}

skip() {
	number=$((number + 1))
	echo "ok $number - style: $1 # SKIP $2"
}

need() { command -v "$1" >/dev/null; }

check_spdx() {
	all_files | while read -r f; do
		case $f in
		*.c | *.h | *.py | *.sh | *.S | */Makefile | Makefile | Kbuild | */Kbuild | */Kconfig | *.rst | *.md | *.build)
			head -n 20 "$f" | grep -q 'SPDX-License-Identifier: ' || echo "$f has no SPDX line"
			;;
		esac
	done
	# The licence of each part is fixed.
	find $driver -name '*.[ch]' ! -name '*.mod.c' | while read -r f; do
		head -n 3 "$f" | grep -q 'GPL-2.0 OR MIT\|: MIT' || echo "$f is not GPL-2.0 OR MIT"
	done
	for f in $(device_c); do
		head -n 20 "$f" | grep -q 'GPL-2.0-or-later' || echo "$f is not GPL-2.0-or-later"
	done
	for f in include/uapi/drm/tessera_drm.h include/tessera/*.h $(plain_c); do
		head -n 20 "$f" | grep -q ': MIT' || echo "$f is not MIT"
	done
}

# Functions up to 100 lines (60 wants a reason), files up to 1000.
check_lengths() {
	local f
	for f in $(kernel_c) $(plain_c) $(device_c); do
		case $f in
		include/tessera/tessera_hw.h | include/uapi/*) continue ;;
		esac
		# Lines of comments do not count: a limit on words would shorten explanations.
		awk -v f="$f" '
			comment && /\*\// { comment = 0; next }
			comment { next }
			/^[ \t]*\/\*/ { comment = !/\*\//; next }
			{ lines++ }
			END { if (lines > 1000) print f " has " lines " lines besides comments" }' "$f"
	done
	if need ctags; then
		# shellcheck disable=SC2046
		ctags -f - --language-force=C --c-kinds=f --fields=ne $(kernel_c) $(plain_c) $(device_c) |
			awk -F'\t' '{
				line = end = 0
				for (i = 4; i <= NF; i++) {
					if ($i ~ /^line:/) line = substr($i, 6)
					if ($i ~ /^end:/) end = substr($i, 5)
				}
				if (end - line + 1 > 100)
					print $2 ":" line ": " $1 "() has " end - line + 1 " lines"
			}'
	fi
}

# Documents are wrapped at 80 columns, so that a difference can be read; an address cannot be.
check_widths() {
	all_files | grep -E '^[A-Z]+\.md$|^Documentation/.*\.rst$' |
		xargs grep -nHP '^.{81,}$' | grep -v '://' || true
}

# The scene and what must be seen: in one line there is room for one of them.
check_scenes() {
	awk '
		FNR == 2 { head = /^\/\*$/ }
		FNR == 2 && !head { print FILENAME " does not begin with a comment of several lines" }
		head && /^ \*\/$/ {
			head = 0
			if (FNR < 5 || FNR > 15)
				print FILENAME " begins with " FNR - 3 " lines of comment, not 2 to 12"
		}' tests/guest/*.c
}

check_shellcheck() {
	# shellcheck disable=SC2046
	shellcheck -x -P SCRIPTDIR -S warning -f gcc $(shell_scripts) || true
}

check_clang_format() {
	local text
	# shellcheck disable=SC2046
	text=$(clang-format --dry-run $(plain_c) 2>&1 | grep -E 'warning:|error:' || true)
	[ -z "$text" ] || printf 'run: make format\n%s\n' "$text"
}

check_kernel_doc() {
	# shellcheck disable=SC2046
	"$kernel/scripts/kernel-doc" -none \
		$(find $driver include/uapi -name '*.[ch]' ! -name '*.mod.c' | sort) 2>&1 |
		grep -E 'warning:|error:' || true
	# Every function other files can call says what it does (tests are none).
	if need ctags; then
		find $driver -name '*.c' ! -name '*.mod.c' ! -path '*/kunit/*' | sort | while read -r f; do
			ctags -x --language-force=C --c-kinds=f --_xformat='%N	%C' "$f" |
				while IFS=$'\t' read -r name text; do
					case $text in static*) continue ;; esac
					# a macro's use may look like a definition
					case $name in [A-Z]*) continue ;; esac
					grep -qE "^ \* $name(\(\))? - " "$f" || echo "$f: $name() has no kernel-doc"
				done
		done
	fi
}

# The documents build, and each reference in them leads to something.
check_html() {
	scripts/build-docs.sh --check || echo "scripts/build-docs.sh failed"
}

# Tracepoint headers are a language of their own; pure.h stands for the kernel's headers
# where the pure files build on the host.
check_checkpatch() {
	local ignore files
	ignore=$(IFS=,; echo "${checkpatch_ignore[*]}")
	mapfile -t files < <(kernel_c | grep -vE '_trace\.h$|/pure/pure\.h$')
	"$kernel/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary \
		--max-line-length=100 --ignore "$ignore" -f "${files[@]}" || true
	rm -f .checkpatch-camelcase* # its cache
}

# Builds the driver with sparse and W=1; the log is kept for the same sources.
lint_build() {
	local key src=$lint/src
	key=$({
		readlink -f "$BUILD/kernels/stock"
		hash_tree $driver include Kbuild
	} | hash_text)
	[ "$(cat "$lint/key" 2>/dev/null)" = "$key" ] && return
	rm -rf "$lint"
	mkdir -p "$src/$driver"
	rsync -r --exclude '.*' --exclude '*.o' "$driver/" "$src/$driver/"
	rsync -r include "$src/"
	cp Kbuild "$src/"
	if make -C "$BUILD/kernels/stock/headers" M="$src" W=1 C=2 -j "$JOBS" modules \
		>"$lint/log" 2>&1; then
		echo "$key" >"$lint/key"
	else
		return 1
	fi
}

# What the other checks say of a driver that does not compile is of no use.
stop_unless_it_compiles() {
	case " ${checks[*]} " in
	*" sparse "* | *" warnings "*) ;;
	*) return 0 ;;
	esac
	if [ ! -e "$BUILD/kernels/stock/headers" ] || lint_build; then
		return 0
	fi
	echo "1..1"
	{ grep -m 1 -B 3 -A 8 -E ':[0-9]+: (fatal )?error: |^ERROR: ' "$lint/log" || tail -n 20 "$lint/log"; } |
		sed "s|$lint/src/||; s/^/#   /"
	echo "not ok 1 - style: the driver compiles"
	exit 1
}

# Sparse speaks as the compiler does; what only it can say is told by its words.
sparse_words='symbol .* was not declared|different (base types|address spaces)|context imbalance|restricted __|incorrect type|cast (removes|from|to) |Using plain integer|dereference of noderef|should it be static'
of_driver() { grep -E '(warning|error):' "$lint/log" | grep -F "$driver" | sed "s|$lint/src/||" | sort -u || true; }
check_sparse() {
	of_driver | grep -E "$sparse_words" || true
}
check_warnings() {
	of_driver | grep -vE "$sparse_words" || true
}

run() {
	case $1 in
	spdx) result "every file names its licence" < <(check_spdx) ;;
	lengths) result "functions up to 100 lines, files up to 1000 besides comments" < <(check_lengths) ;;
	widths) result "documents have 80 columns" < <(check_widths) ;;
	scenes) result "guest tests begin with their scene and what must be seen" < <(check_scenes) ;;
	shellcheck)
		if need shellcheck; then
			result "shellcheck" < <(check_shellcheck)
		else
			skip shellcheck "not installed: make deps"
		fi
		;;
	clang-format)
		if need clang-format; then
			result "clang-format of userspace and tests" < <(check_clang_format)
		else
			skip clang-format "not installed: make deps"
		fi
		;;
	kernel-doc | checkpatch)
		if [ -e "$kernel/scripts/checkpatch.pl" ]; then
			result "$1" < <("check_${1/-/_}")
		else
			skip "$1" "no kernel source: make kernel-debug"
		fi
		;;
	html)
		if [ ! -e "$BUILD/kernels/stock/headers" ]; then
			skip html "no kernel headers: make kernel-stock"
		elif ! need sphinx-build || ! need dot; then
			skip html "not installed: make deps"
		else
			result "the documents build without a warning" < <(check_html)
		fi
		;;
	sparse | warnings)
		if [ ! -e "$BUILD/kernels/stock/headers" ]; then
			skip "$1" "no kernel headers: make kernel-stock"
		elif [ "$1" = sparse ] && ! need sparse; then
			skip sparse "not installed: make deps"
		else
			result "$1 of the driver (W=1)" < <("check_$1")
		fi
		;;
	*) die "no check named '$1'" "one of: ${checks[*]}" ;;
	esac
}

if [ $# -gt 0 ]; then
	checks=("$@")
fi
stop_unless_it_compiles
echo "1..${#checks[@]}"
for check in "${checks[@]}"; do
	run "$check"
done
exit $failed
