#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Install the packages that the build and the tests need; nothing is done for
# those that are there. With arguments: only the named groups.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$ROOT/scripts/lib/apt.sh"

# shellcheck disable=SC2034 # the groups are used by name
{
base="build-essential pkg-config python3 rsync util-linux file ca-certificates"
qemu="ninja-build python3-venv python3-setuptools dpkg-dev libglib2.0-dev
	libpixman-1-dev libfdt-dev libpng-dev zlib1g-dev libattr1-dev"
kernel="flex bison bc libelf-dev libssl-dev cpio kmod xz-utils lz4 dwarves"
guest="busybox-static cpio kmod"
userspace="libdrm-dev libpng-dev libcmocka-dev"
lint="universal-ctags sparse shellcheck clang-format git perl python3-docutils"
docs="python3-sphinx python3-myst-parser graphviz perl"
check="libdrm-tests meson"
}

groups=${*:-base qemu kernel guest userspace lint docs check}
check_os
packages=
for group in $groups; do
	packages+=" ${!group}"
done
# shellcheck disable=SC2086
apt_need $packages
