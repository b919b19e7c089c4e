# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Paths and small helpers for every script. Source it after `set -euo pipefail`.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=$ROOT/build
CACHE=${TESSERA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tessera}
JOBS=${JOBS:-$(nproc)}
export ROOT BUILD CACHE JOBS
# Nothing a build prints may depend on the language of the user.
export LC_ALL=C.UTF-8
# Jobs are set by $JOBS; a parent make's job server is not for the builds below.
unset MAKEFLAGS MFLAGS MAKELEVEL

# shellcheck source=scripts/lib/step.sh
. "$ROOT/scripts/lib/step.sh"

mkdir -p "$BUILD" "$CACHE" ||
	die "cannot create $BUILD or $CACHE" "set TESSERA_CACHE to a folder you can write to"
[ -w "$CACHE" ] ||
	die "the cache $CACHE is read-only" "set TESSERA_CACHE to a folder you can write to"

# hash_text: short content hash of standard input.
hash_text() { sha256sum | cut -c1-16; }

# hash_tree PATH…: short hash of the names and contents of all files below the
# paths (given relative to $ROOT); paths that do not exist count as empty.
hash_tree() {
	(
		cd "$ROOT"
		for path in "$@"; do
			[ -e "$path" ] && find "$path" -type f ! -name '*~' ! -name '.*.sw?' -print0
		done | LC_ALL=C sort -z | xargs -0 -r sha256sum
	) | hash_text
}

# lock NAME: hold an exclusive lock in the cache until this shell ends.
lock() {
	local fd
	mkdir -p "$CACHE/locks"
	exec {fd}>"$CACHE/locks/$1"
	if ! flock -n "$fd"; then
		note "waiting for another build that holds the $1 lock"
		flock "$fd"
	fi
}

# prune DIR KEEP: keep the KEEP most recently used entries of a cache folder.
prune() {
	[ -d "$1" ] || return 0
	find "$1" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' | sort -rn |
		tail -n "+$(($2 + 1))" | cut -d' ' -f2- | while read -r old; do
		rm -rf "$old"
	done
}

# as_root COMMAND…
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "'$*' needs root" "run as root, or install sudo"
	fi
}
