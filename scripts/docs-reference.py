#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the reference pages that come from sources, for scripts/build-docs.sh.

    scripts/docs-reference.py KERNEL_DOC OUTPUT_FOLDER

Four files result, which the pages in Documentation/reference include:

* uapi.rst: the kernel-doc of the uAPI header,
* driver.rst: the DOC comments of the driver, one folder after the other,
* libtessera.rst, hardware.rst: the comments and declarations of headers that
  have no kernel-doc, because programs outside the kernel use them.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRIVER = ROOT / "drivers/gpu/drm/tessera"
# From the interface to the hardware, as in Documentation/architecture.rst.
FOLDERS = (".", "ioctl", "kms", "submit", "vm", "sync", "gem", "cpu", "mem", "borrow", "paging",
           "segments", "debug", "exec", "client", "hw", "base", "pure")

DOC = re.compile(r"^/\*\*\n \* DOC: (.*)\n((?: \*(?!/).*\n)*)", re.M)
SECTION = re.compile(r"/\* -{4,} (.*?) -* \*/")
# A comment that begins a line, a preprocessor line with its continuations, or a declaration.
PIECE = re.compile(
    r"(?P<comment>/\*.*?\*/\n)|(?P<define>#(?:[^\n]*\\\n)*[^\n]*\n)|"
    r"(?P<declaration>[^\n/#](?:[^;{]|\{.*?^\})*?;[^\n]*\n)|(?P<empty>\n)", re.S | re.M)
SKIPPED = re.compile(r"#\s*(ifn?def|endif|include)\b|#define (TESSERA_HW_H|TESSERA_H|TESSERA_API)\b|extern \"C\"")


def heading(text, line):
    return "%s\n%s\n\n" % (text, line * len(text))


def kernel_doc(program, *args):
    """reStructuredText from comments; a comment that cannot be parsed is an error."""
    run = subprocess.run(["perl", program, "-rst", "-sphinx-version", "5.3", *map(str, args)],
                         capture_output=True, text=True, check=False)
    if run.returncode or "warning:" in run.stderr or "error:" in run.stderr:
        sys.exit("kernel-doc: %s" % run.stderr.strip())
    return run.stdout


def driver():
    """The DOC comments of all files, by folder.

    kernel-doc prints DOC comments either without their titles or together with all functions.
    """
    out = []
    for folder in FOLDERS:
        found = []
        for path in sorted((DRIVER / folder).glob("*.[ch]")):
            for title, text in DOC.findall(path.read_text(encoding="utf-8")):
                text = re.sub(r"^ \*[ \t]?", "", text, flags=re.M)
                text = re.sub(r"[@%](\w+)", r"``\1``", text)
                text = re.sub(r"&((?:struct|enum|union) )?([\w.]+\w)", r"``\1\2``", text)
                found.append(heading("%s: %s" % (path.relative_to(DRIVER), title), "-") + text)
        if found:
            out.append(heading("Top folder" if folder == "." else folder + "/", "=") + "\n".join(found))
    return "\n".join(out)


def plain(comment):
    """The text of a comment, so that reStructuredText takes it literally."""
    text = re.sub(r"^/\*+ ?|\s*\*+/\s*$", "", comment.strip())
    text = re.sub(r"^[ \t]*\* ?", "", text, flags=re.M).strip("\n")
    text = re.sub(r"([\\*`|])", r"\\\1", text)
    text = re.sub(r"_(?=\W|$)", r"\\_", text)
    text = re.sub(r"\\\*@(\w+)", r"``*\1``", text)
    text = re.sub(r"@(\w+)", r"``\1``", text)
    # A list needs an empty line before it, and its items are not indented.
    text = re.sub(r"^ - ", "- ", text, flags=re.M)
    text = re.sub(r"^   (?=\S)", "  ", text, flags=re.M)
    text = re.sub(r"(:\n)(- )", r"\1\n\2", text)
    # A drawing, or a list without dashes, keeps its lines.
    return "\n\n".join(
        re.sub(r"^", "| ", part, flags=re.M) if re.search(r"^ ", part, re.M) and not re.search(r"^- ", part, re.M)
        else part for part in text.split("\n\n"))


def indented(text, width=3):
    return re.sub(r"^(?=.)", " " * width, text, flags=re.M)


def block(comment, code):
    """One comment and the declarations below it."""
    names = re.findall(r"^TESSERA_API (.*?);[^\n]*$", code, re.M | re.S)
    if names and "{" not in code:
        lines = [" ".join(name.split()) for name in names]
        return ".. c:function:: %s\n\n%s\n" % (
            "\n                ".join(lines), indented(plain(comment)) if comment else "")
    text = plain(comment) + "\n\n" if comment else ""
    return text + (".. code-block:: c\n\n%s\n" % indented(code.rstrip("\n")) if code.strip() else "")


def header(path):
    """A header as text: sections, comments, and the declarations that each describes."""
    text = path.read_text(encoding="utf-8")
    # The licence stands in the file.
    text = text[text.index("*/") + 2:].lstrip("\n")
    text = re.sub(r'^extern "C" \{\n|^\}\n', "", text, flags=re.M)
    out, comment, code = [], "", ""
    position = 0
    for match in PIECE.finditer(text):
        if match.start() != position:
            sys.exit("%s: cannot read %r" % (path, text[position:match.start()][:80]))
        position = match.end()
        piece = match.group()
        section = SECTION.match(piece)
        if match.lastgroup == "comment" or match.lastgroup == "empty":
            if comment or code:
                out.append(block(comment, code))
            comment, code = piece if match.lastgroup == "comment" and not section else "", ""
            if section:
                out.append(heading(section.group(1), "="))
        elif not SKIPPED.match(piece):
            code += piece
    if position != len(text):
        sys.exit("%s: cannot read %r" % (path, text[position:][:80]))
    out.append(block(comment, code))
    return "\n".join(out)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "uapi": kernel_doc(program, ROOT / "include/uapi/drm/tessera_drm.h"),
        "driver": driver(),
        "libtessera": header(ROOT / "userspace/libtessera/tessera.h"),
        "hardware": header(ROOT / "include/tessera/tessera_hw.h"),
    }
    for name, text in pages.items():
        (folder / (name + ".rst")).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
