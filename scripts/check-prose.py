#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How comments and documents read, as TAP: one test for each folder.

Two figures are held. Markers are words that leave open which object, client or thread acts, or that no kernel
comment uses: at most 2 in 1,000 words. Fronted sentences begin with something else than their subject: at most 2 %.
A single sentence is allowed anywhere.

    scripts/check-prose.py            check
    scripts/check-prose.py FILE...    figures of these files, and each sentence that counts
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

MARKER = re.compile(
    r"\b(who|whoever|whom|whose|somebody|nobody|he|his|him|likewise|such a one|be it|as of|so many|"
    r"whatever|what is|what was|no more|in any case)\b", re.I)
FRONTED = re.compile(r"(What|Who|Whoever|Of|To|That|Such|So|Not|Behind|Nobody|Likewise)\b")
MOST_MARKERS = 2.0
MOST_FRONTED = 2.0

# Trees, in which each folder with files of these kinds is measured.
TREES = (("drivers", ".c", ".h"), ("include", ".c", ".h"), ("kunit", ".c", ".h"), ("userspace", ".c", ".h"),
         ("tests", ".c", ".h"), ("qemu-device", ".c", ".h"), ("Documentation", ".rst", ".md"), (".", ".md"))

COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)


def comments(text):
    """The comments of a C file, each a paragraph or several."""
    found = []
    for match in COMMENT.finditer(text):
        comment = match.group(0)
        if comment.startswith('"') or ("SPDX" in comment and len(comment) < 80):
            continue
        comment = re.sub(r"^\s*/\*+|\*+/\s*$|^//", "", comment)
        comment = re.sub(r"^\s*\* ?", "", comment, flags=re.M)
        found.append(re.sub(r"^\s*@\w+:\s*", "", comment, flags=re.M))
    return "\n\n".join(found)


def prose(path):
    """The text of a file that is meant to be read."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix in (".c", ".h"):
        return comments(text)
    text = re.sub(r"``.*?``|`[^`\n]*`", " ", text)
    return re.sub(r"^\s*[=+\-|~]{3,}.*$", " ", text, flags=re.M)


def sentences(text):
    """(sentence, number of its words) for those of at least three words."""
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in re.split(r"(?<=[.!?:;])\s+", " ".join(paragraph.split())):
            words = len(re.findall(r"[A-Za-z]{2,}", sentence))
            if words >= 3:
                yield sentence, words


def measure(paths):
    """(markers in 1,000 words, fronted sentences in 100, [sentence that counts])."""
    words = markers = fronted = number = 0
    bad = []
    for path in paths:
        for sentence, length in sentences(prose(path)):
            found = len(MARKER.findall(sentence))
            front = bool(FRONTED.match(sentence))
            words += length
            number += 1
            markers += found
            fronted += front
            if found or front:
                bad.append(f"{path.relative_to(ROOT)}: {sentence[:100]}")
    return 1000 * markers / max(words, 1), 100 * fronted / max(number, 1), bad


def folders():
    """{folder: files}, sorted."""
    found = {}
    for tree, *kinds in TREES:
        pattern = "*" if tree == "." else "**/*"
        for path in sorted((ROOT / tree).glob(pattern)):
            if path.suffix in kinds and path.is_file() and not path.name.endswith(".mod.c"):
                found.setdefault(str(path.parent.relative_to(ROOT)), []).append(path)
    return found


def check():
    """True if no folder is above its limits."""
    good = True
    found = folders()
    for number, (folder, paths) in enumerate(sorted(found.items()), 1):
        markers, fronted, bad = measure(paths)
        fine = len(bad) <= 1 or (round(markers, 1) <= MOST_MARKERS and round(fronted, 1) <= MOST_FRONTED)
        good &= fine
        print(f"{'' if fine else 'not '}ok {number} - prose: {folder}")
        if not fine:
            print(f"#   {markers:.1f} markers in 1,000 words, at most {MOST_MARKERS}; "
                  f"{fronted:.1f} % fronted sentences, at most {MOST_FRONTED}")
            print("".join(f"#   {line}\n" for line in bad[:40]), end="")
    print(f"1..{len(found)}")
    return good


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=lambda name: pathlib.Path(name).resolve())
    args = parser.parse_args()
    if not args.files:
        sys.exit(not check())
    markers, fronted, bad = measure(args.files)
    print("\n".join(bad))
    print(f"{markers:.1f} markers in 1,000 words, {fronted:.1f} % fronted sentences")


if __name__ == "__main__":
    main()
