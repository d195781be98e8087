#!/usr/bin/env python3
"""bench/render_tables.py leaves a text alone whose tables have no end or name no kind."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import render_tables

MARK = "<!-- table: ceilings-h200.json ceilings -->\n"
END = "<!-- end table -->\n"


class TablesTest(unittest.TestCase):
    def test_a_whole_table_is_rendered(self):
        self.assertIn("NVIDIA H200", render_tables.render(MARK + "old\n" + END))

    def test_a_table_without_an_end_is_refused(self):
        self.assertRaises(SystemExit, render_tables.render, MARK + "old\n")

    def test_text_before_the_next_table_is_kept(self):
        self.assertRaises(SystemExit, render_tables.render, MARK + "old\nprose\n" + MARK + END)

    def test_a_mark_that_is_none_is_refused(self):
        self.assertRaises(SystemExit, render_tables.render, "<!-- table: ceilings-h200.json cei-lings -->\n" + END)


if __name__ == "__main__":
    unittest.main()
