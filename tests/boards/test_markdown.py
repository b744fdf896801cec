"""Nothing that a plugin or a record says can change the shape of a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchsuite.boards.files import BEGIN, END
from benchsuite.boards.markdown import escape, fixed, interval, link, significant, table, venue
from benchsuite.boards.statistics import Estimate
from benchsuite.contracts.cards import Paper


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("`rm`", "\\`rm\\`"),
        ("two\nlines\r\n# no heading", "two lines \\# no heading"),
        ("<script>&amp;", "&lt;script&gt;&amp;amp;"),
        ("[x](y)", "\\[x\\](y)"),
        ("per_column * 2", "per\\_column \\* 2"),
        ("$x$ ~~no~~", "\\$x\\$ \\~\\~no\\~\\~"),
        ("red \x1b[31m", "red \N{REPLACEMENT CHARACTER}\\[31m"),
        ("left \u202e right", "left \N{REPLACEMENT CHARACTER} right"),
        ("表", "&#34920;"),
        ("plain, text: 0.5 % ± é", "plain, text: 0.5 % ± é"),
    ],
)
def test_escape(text, escaped):
    assert escape(text) == escaped


def unescaped_pipes(line: str) -> int:
    return line.replace("\\\\", "").replace("\\|", "").count("|")


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=4))
def test_a_table_keeps_its_shape_whatever_is_in_it(rows):
    lines = table(["a", "b"], [[escape(cell) for cell in row] for row in rows]).split("\n")
    assert len(lines) == len(rows) + 2
    assert {unescaped_pipes(line) for line in lines} == {3}
    assert len({len(line) for line in lines}) == 1


@given(st.text())
def test_no_text_holds_a_marker_or_a_tag(text):
    shown = escape(text + BEGIN + END + text)
    assert "<" not in shown
    assert "\n" not in shown


def test_links_are_web_addresses_or_no_links():
    assert link("T", "https://arxiv.org/abs/1") == "[T](https://arxiv.org/abs/1)"
    assert link("T", "https://a.b/x) <b>") == "[T](https://a.b/x%29%20%3Cb%3E)"
    assert link("[T]", "javascript:alert(1)") == "\\[T\\]"


@pytest.mark.parametrize(
    ("value", "digits", "signed", "text"),
    [
        (81.525, 2, False, "81.53"),
        (-0.001, 2, True, "0.00"),
        (0.0, 1, True, "0.0"),
        (0.25, 2, True, "+0.25"),
        (-1.5, 2, True, "-1.50"),
    ],
)
def test_fixed(value, digits, signed, text):
    assert fixed(value, digits, signed) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.000228, "0.000228"),
        (1.1, "1.10"),
        (3187.2, "3190"),
        (2.0, "2.00"),
        (99.99, "100"),
        (0.0, "0.00"),
        (1e7, "10000000"),
    ],
)
def test_significant(value, text):
    assert significant(value) == text


def test_significant_without_zeros_that_say_nothing():
    assert [significant(x, trim=True) for x in (0.5, 10.0, 0.0, -30.0)] == ["0.5", "10", "0", "-30"]


def test_no_half_width_is_printed_for_one_value():
    assert interval(Estimate(1.0, 0.5, 3), 2) == "1.00 ± 0.50 (3)"
    assert interval(Estimate(1.0, None, 1), 2, signed=True) == "+1.00 (1)"
    assert interval(None, 2) == "-"


def test_a_venue_names_its_year_once():
    paper = {"title": "T", "url": "https://a.b", "year": 2021}
    assert venue(Paper(**paper, venue="ICLR")) == "ICLR 2021"
    assert venue(Paper(**paper, venue="DAC 2021, doi 1")) == "DAC 2021, doi 1"
    assert venue(Paper(**paper)) == "2021"
