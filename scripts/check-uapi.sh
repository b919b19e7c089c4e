#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The userspace interface must have one layout on 32-bit and 64-bit userspace,
# no holes, sizes that are multiples of 8 bytes, only fixed-width types, and
# ioctl numbers that fit. Compiles a program generated from the header for both
# and compares the constants in the assembly; nothing 32-bit has to be linked or run.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
header=$root/include/uapi/drm/tessera_drm.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
failed=0

# result NAME: reads the complaints on standard input; none is a pass.
result() {
	local text
	text=$(cat)
	number=$((number + 1))
	if [ -z "$text" ]; then
		echo "ok $number - uapi: $1"
	else
		echo "not ok $number - uapi: $1"
		printf '%s\n' "$text" | sed 's/^/#   /'
		failed=1
	fi
}

# struct<TAB>field for each field, struct<TAB>- for each struct.
list_fields() {
	awk '
		/^struct drm_tessera_[a-z_0-9]+ \{/ { s = $2; print s "\t-"; next }
		/^\};/ { s = "" }
		s && /^\t[_a-z].*;/ {
			line = $0
			sub(/;.*/, "", line)
			sub(/\[.*/, "", line)
			n = split(line, word, /[ \t]+/)
			print s "\t" word[n] "\t" word[n - 1]
		}' "$header"
}

generate() {
	local s f
	echo '#include <stddef.h>'
	echo '#include <drm/tessera_drm.h>'
	echo '#define V(name, value) const unsigned int name = (value);'
	while IFS=$'\t' read -r s f _; do
		if [ "$f" = - ]; then
			echo "V(size__${s}, sizeof(struct $s))"
		else
			echo "V(off__${s}__$f, offsetof(struct $s, $f))"
			echo "V(len__${s}__$f, sizeof(((struct $s *)0)->$f))"
		fi
	done <"$work/fields"
	grep -oE '^#define DRM_IOCTL_TESSERA_[A-Z0-9_]+' "$header" | awk '{ print $2 }' |
		while read -r s; do
			echo "V(ioctl__$s, $s)"
		done
}

# name value, sorted, of the constants in an assembly file
values() {
	awk '
		/^[a-z]+__[A-Za-z_0-9]+:/ { name = substr($1, 1, length($1) - 1); next }
		name && /^[ \t]+\.(long|zero)/ {
			print name, ($1 == ".zero") ? 0 : $2
			name = ""
		}' "$1" | sort
}

compile() {
	local bits=$1
	# The multiarch folder holds <asm/…>, which -m32 does not look into.
	gcc "-m$bits" -std=gnu11 -Wall -Werror -S -o "$work/abi$bits.s" "$work/abi.c" \
		-I "$root/include/uapi" -isystem /usr/include/libdrm -isystem /usr/include/drm \
		-isystem "/usr/include/$(gcc -print-multiarch 2>/dev/null || echo .)" \
		-isystem /usr/include/x86_64-linux-gnu
	values "$work/abi$bits.s" >"$work/abi$bits"
}

# Every field starts where the one before ended; the last ends the struct.
holes() {
	awk -F'[ \t]' '
		FNR == NR { value[$1] = $2; next }
		$2 == "-" { finish(); s = $1; end = 0; next }
		{
			at = value["off__" s "__" $2]
			if (at != end)
				print "struct " s ": a hole of " at - end " bytes before " $2
			end = at + value["len__" s "__" $2]
		}
		END { finish() }
		function finish() {
			if (s && end != value["size__" s])
				print "struct " s ": " value["size__" s] - end " bytes of padding at the end"
			if (s && value["size__" s] % 8)
				print "struct " s ": size " value["size__" s] " is no multiple of 8"
		}' "$work/abi64" "$work/fields"
}

list_fields >"$work/fields"
generate >"$work/abi.c"
echo "1..7"
if ! { compile 64 && compile 32; } >"$work/log" 2>&1; then
	result "compiles for 64-bit and 32-bit userspace" <"$work/log"
	exit 1
fi
constants_found() {
	local bits got expected
	expected=$(grep -c '^V(' "$work/abi.c")
	for bits in 32 64; do
		got=$(wc -l <"$work/abi$bits")
		[ "$got" = "$expected" ] || echo "$bits bit: $got of $expected constants found"
	done
	[ "$(grep -c -- '-$' "$work/fields")" -ge 10 ] || echo "structs were not found in the header"
}

# i386 aligns 64-bit integers to 4: the layout must not lean on that.
unaligned() {
	awk '
		/^len__/ { name = substr($1, 6); len[name] = $2 }
		/^off__/ { name = substr($1, 6); off[name] = $2 }
		END { for (n in len) if (len[n] % 8 == 0 && off[n] % 8) print n " at " off[n] }' \
		"$work/abi64"
}

wrong_types() {
	awk -F'\t' '$2 != "-" && $3 !~ /^__[us](8|16|32|64)$/ && $3 !~ /^drm_tessera_array$/ {
		print "struct " $1 ": " $2 " is " $3 }' "$work/fields"
}

wrong_fields() { grep -nE '^\s*union\b|^\s+__?[us][0-9]+ \w+ *:|^\s+\w[^*;]*\*\w+;' "$header" || true; }

# Warnings and errors of a program that holds nothing but the header.
alone() {
	local include=(-I "$root/include/uapi" -isystem /usr/include/libdrm -isystem /usr/include/drm)
	printf '#include <drm/tessera_drm.h>\nint main(void) { return 0; }\n' >"$work/alone.c"
	gcc -std=c99 -Wall -Wextra -Werror -fsyntax-only "${include[@]}" "$work/alone.c" 2>&1 || true
	if command -v g++ >/dev/null; then
		cp "$work/alone.c" "$work/alone.cpp"
		g++ -Wall -Wextra -Werror -fsyntax-only "${include[@]}" "$work/alone.cpp" 2>&1 || true
	fi
}

result "compiles for 64-bit and 32-bit userspace" < <(constants_found)
result "sizes, offsets and ioctl numbers are the same for both" \
	< <(diff "$work/abi32" "$work/abi64" | grep '^[<>]')
result "no holes, no padding at the end, sizes are multiples of 8" < <(holes)
result "64-bit fields are aligned to 8" < <(unaligned)
result "fixed-width types only" < <(wrong_types)
result "no unions, bit-fields, pointers" < <(wrong_fields)
result "the header compiles alone, as C99 and C++" < <(alone)
exit $failed
