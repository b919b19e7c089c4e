# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Say what a build step does, how long it took and, when it fails, what to do.
# Sourced by common.sh; needs $BUILD.

_step_now() { date +%s%N; }

# note TEXT: one line about something that needed no work.
note() { printf '   %s\n' "$*"; }

# warn TEXT
warn() { printf 'warning: %s\n' "$*" >&2; }

# die TEXT [HINT]
die() {
	printf '\nerror: %s\n' "$1" >&2
	if [ $# -gt 1 ]; then
		printf '  what to do: %s\n' "$2" >&2
	fi
	exit 1
}

# step TITLE HINT COMMAND [ARG…]
#
# Runs COMMAND with its output in build/logs/; prints the title first and the
# time after. On failure prints the log's tail and HINT and exits. STEP_SHOW may
# hold an extended regular expression: matching lines of a successful command's
# log are printed too (compiler warnings, for example).
step() {
	local title=$1 hint=$2 log start rc ms
	shift 2
	mkdir -p "$BUILD/logs"
	log=$BUILD/logs/$(printf '%s' "$title" | tr -c 'A-Za-z0-9._\n' '-' | cut -c1-60).log
	printf -- '-- %s\n' "$title"
	start=$(_step_now)
	set +e
	(set -e; "$@") >"$log" 2>&1 </dev/null
	rc=$?
	set -e
	ms=$((($(_step_now) - start) / 1000000))
	if [ $rc -ne 0 ]; then
		printf '\nerror: "%s" failed (exit code %d) after %d.%d s\n' \
			"$title" $rc $((ms / 1000)) $((ms % 1000 / 100)) >&2
		if grep -qE '(^|[: ])(fatal )?(error|ERROR):' "$log"; then
			printf '  first errors:\n' >&2
			grep -nE '(^|[: ])(fatal )?(error|ERROR):' "$log" | head -n 8 | sed 's/^/  | /' >&2
		fi
		printf '  the last lines of %s:\n' "$log" >&2
		tail -n 25 "$log" | sed 's/^/  | /' >&2
		printf '  what to do: %s\n' "$hint" >&2
		exit $rc
	fi
	if [ -n "${STEP_SHOW:-}" ]; then
		grep -E -A6 -- "$STEP_SHOW" "$log" || true
	fi
	printf '   done in %d.%d s\n' $((ms / 1000)) $((ms % 1000 / 100))
}
