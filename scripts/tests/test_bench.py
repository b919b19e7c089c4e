#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows of the benchmark: medians of samples and boots, spread, goals."""

import importlib.util
import os
import unittest

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "bench-merge.py")
SPEC = importlib.util.spec_from_file_location("bench_merge", PATH)
bench = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench)


def boot(values, references, name="evict"):
    return {"name": name, "unit": "B/s", "better": "higher", "goal": 0.8,
            "values": values, "references": references}


class Merge(unittest.TestCase):
    def test_samples(self):
        row, = bench.merge([boot([1, 3, 2], [2, 4, 4])])
        self.assertEqual((row["value"], row["reference"], row["ratio"]), (2, 4, 0.5))
        self.assertEqual((row["spread"], row["spread_of"]), ([0.5, 0.75], "3 samples"))
        self.assertIs(bench.reached(row), False)

    def test_boots(self):
        rows = bench.merge([boot([6], [10]), boot([1], [1], "other"), boot([9], [10]),
                            boot([8], [10])])
        self.assertEqual([row["name"] for row in rows], ["evict", "other"])
        self.assertEqual(rows[0]["ratio"], 0.8)
        self.assertEqual((rows[0]["spread"], rows[0]["spread_of"]), ([0.6, 0.9], "3 boots"))
        self.assertEqual(len(rows[0]["boots"]), 3)
        self.assertIs(bench.reached(rows[0]), True)
        self.assertIn("0.600 - 0.900, 3 boots", bench.table(rows))

    def test_plain_values(self):
        row, = bench.merge([{"name": "queue", "value": 7}])
        self.assertIsNone(bench.reached(row))
        self.assertNotIn("spread", row)


if __name__ == "__main__":
    unittest.main()
