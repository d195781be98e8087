#!/usr/bin/env python3
"""Plants one violation of each rule of checks.py in a small tree and expects it to be found, and
expects the same tree without it to be silent."""
import pathlib
import tempfile
import unittest

import checks


class ChecksTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        self.write("src/CMakeLists.txt", "add_subdirectory(low)\nadd_subdirectory(high)\n")
        self.write("src/low/CMakeLists.txt", "tilewright_layer(low)\n")
        self.write("src/high/CMakeLists.txt", "tilewright_layer(high DEPENDS tw_low)\n")
        self.write("src/low/low.h", "// Why.\n// Tested by tests/low_test.cpp.\n#pragma once\nstruct Low {};\n")
        self.write("src/high/high.h", '// Why.\n#pragma once\n#include "low/low.h"\ninline Low high;\n')
        self.write("tests/low_test.cpp", '#include "low/low.h"\n')

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = pathlib.Path(self.root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def compile(self):
        return checks.check_compile(self.root, "c++", [])

    def test_a_clean_tree_is_silent(self):
        self.assertEqual(checks.check_layers(self.root), [])
        self.assertEqual(checks.check_text(self.root), [])
        self.assertEqual(checks.check_headers(self.root), [])
        self.assertEqual(self.compile(), [])

    def test_an_include_of_a_higher_layer_is_found(self):
        self.write("src/low/up.cpp", '// Why.\n#include "high/high.h"\n')
        self.assertRegex("\n".join(checks.check_layers(self.root)), "src/low/up.cpp:2: low includes high")

    def test_a_dependency_on_a_later_layer_is_found(self):
        self.write("src/low/CMakeLists.txt", "tilewright_layer(low DEPENDS tw_high)\n")
        self.assertRegex("\n".join(checks.check_layers(self.root)), "tw_high is no layer listed before")

    def test_a_machine_path_is_found(self):
        self.write("docs/use.md", "See " + "/ho" + "me/someone/notes.\n")
        self.assertEqual(len(checks.check_text(self.root)), 1)

    def test_white_space_at_the_end_is_found(self):
        self.write("docs/use.md", "A line \n")
        self.assertEqual(len(checks.check_text(self.root)), 1)

    def test_a_long_source_is_found(self):
        self.write("src/low/long.cpp", "// Why.\n" * (checks.MAX_SOURCE_LINES + 1))
        self.assertRegex("\n".join(checks.check_text(self.root)), "split it")

    def test_a_missing_opening_comment_is_found(self):
        self.write("src/low/bare.cpp", "int bare;\n")
        self.assertRegex("\n".join(checks.check_headers(self.root)), "bare.cpp:1: opens with no comment")

    def test_a_missing_pragma_once_is_found(self):
        self.write("src/low/twice.h", "// Why.\nstruct Twice {};\n")
        self.assertRegex("\n".join(checks.check_headers(self.root)), "twice.h: no #pragma once")

    def test_a_test_that_does_not_exist_is_found(self):
        self.write("src/low/lost.h", "// Why.\n// Tested by tests/lost_test.cpp.\n#pragma once\n")
        self.assertRegex("\n".join(checks.check_headers(self.root)), "tests/lost_test.cpp, which does not")

    def test_a_dead_link_is_found(self):
        self.write("docs/use.md", "See [this](lost.md), [that](../src/CMakeLists.txt), [web](https://a.b/c).\n")
        self.assertEqual(checks.check_links(self.root), ["docs/use.md:1: links to lost.md, which does not exist"])

    def test_a_header_that_leans_on_its_includer_is_found(self):
        self.write("src/low/lean.h", "// Why.\n#pragma once\ninline std::string lean;\n")
        self.assertRegex("\n".join(self.compile()), "src/low/lean.h: does not compile alone")


if __name__ == "__main__":
    unittest.main()
