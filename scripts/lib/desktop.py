# SPDX-License-Identifier: MIT
"""A tree of Debian packages as an archive for the guest: desktop.py TAR OUTPUT."""

import re
import sys
import tarfile

import initramfs

# Where the guest has it: its own root stays as it is.
FOLDER = "desktop"
# What nobody in the guest reads.
UNUSED = re.compile(r"^(dev|proc|sys|tmp|run|boot|var/(lib/(dpkg|apt)|cache|log)|usr/(lib/(python3[^/]*|udev/hwdb[^/]*)"
                    r"|share/(doc|man|info|locale|iso-codes|perl\d*|zoneinfo|mime|python3)))(/|$)")


def convert(source, output):
    cpio = initramfs.Cpio()
    for name in ("dev", "proc", "sys", "tmp", "run", "root"):
        cpio.directory("%s/%s" % (FOLDER, name))
    with tarfile.open(source) as tar:
        for member in tar:
            name = member.name.lstrip("./")
            path = "%s/%s" % (FOLDER, name)
            if not name or UNUSED.match(name):
                continue
            if member.isdir():
                cpio.directory(path)
            elif member.issym():
                cpio.symlink(path, member.linkname)
            elif member.isfile() or member.islnk():
                cpio.data(path, tar.extractfile(member).read(), member.mode & 0o777)
    with open(output, "wb") as f:
        f.write(cpio.finish())


if __name__ == "__main__":
    convert(sys.argv[1], sys.argv[2])
