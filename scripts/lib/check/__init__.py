# SPDX-License-Identifier: MIT
"""`make check`: the parts of scripts/check.py."""
