#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Build the documents with Sphinx, in build/html. A warning is an error.
#
#   scripts/build-docs.sh           build
#   scripts/build-docs.sh --check   print the warnings only; the tools are there
#
# kernel-doc comes with the stock kernel's headers.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

kernel_doc() {
	local found
	found=("$BUILD"/kernels/stock/root/usr/lib/linux-kbuild-*/scripts/kernel-doc)
	[ -e "${found[0]}" ] || die "the kernel's headers have no kernel-doc" "make kernel-stock"
	printf '%s' "${found[0]}"
}

generate() {
	python3 "$ROOT/scripts/docs-reference.py" "$(kernel_doc)" "$BUILD/docs"
}

# -n: a reference without a target is a warning.
sphinx() {
	sphinx-build -q -n -W --keep-going -j "$JOBS" -b html -d "$BUILD/docs/doctrees" \
		"$ROOT/Documentation" "$BUILD/html"
}

if [ "${1:-}" = --check ]; then
	generate 2>&1 && sphinx 2>&1 | sed "s|$ROOT/||"
	exit
fi
"$ROOT/scripts/deps.sh" base docs
"$ROOT/scripts/fetch-stock-kernel.sh"
step "write the reference from the sources" "see the message above" generate
step "build the documents" "fix the sentence that the message names" sphinx
note "open build/html/index.html"
