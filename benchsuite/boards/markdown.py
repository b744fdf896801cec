"""Text for Markdown: escaping, numbers in fixed notation, tables."""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import jinja2
from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchsuite.boards.statistics import Estimate
    from benchsuite.contracts.cards import Paper

#: What stands in a cell that has nothing to say.
NOTHING = "-"

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKS = frozenset("\\`*_[]|~$#")


def plain(text: str) -> str:
    """Return ``text`` in one line, without control and format characters (which could move a terminal's cursor)."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(text.split()))


def escape(text: object) -> str:
    """Return ``text`` such that Markdown shows it as it is, in a table as elsewhere."""
    return "".join(map(_escaped, plain(str(text))))


def _escaped(char: str) -> str:
    if char in _HTML:
        return _HTML[char]
    if char in _MARKS:
        return "\\" + char
    # A wide or combining character as itself would make a table's padding depend on whether wcwidth is installed.
    if unicodedata.combining(char) or unicodedata.east_asian_width(char) in "WF":
        return f"&#{ord(char)};"
    return char


def link(text: str, url: str) -> str:
    """Return a Markdown link; the escaped text alone where ``url`` is not a web address."""
    if urlsplit(url).scheme not in ("http", "https"):
        return escape(text)
    return f"[{escape(text)}]({quote(url, safe=':/?#@!$&+,;=%~-._')})"


def venue(paper: Paper) -> str:
    """Return where and when a paper appeared; the year once, though many venues name it."""
    year = str(paper.year)
    return escape(" ".join([paper.venue] if year in paper.venue else filter(None, [paper.venue, year])))


def fixed(value: float, digits: int, signed: bool = False) -> str:
    """Return ``value`` with ``digits`` decimals; zero never has a sign."""
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    return text if float(text) else f"{0:.{digits}f}"


def significant(value: float, digits: int = 3, trim: bool = False) -> str:
    """Return ``value`` with ``digits`` significant digits, never in exponent notation.

    Args:
        value: a finite number.
        digits: how many of its digits count.
        trim: leave out zeros behind the decimal point that say nothing.
    """
    zeros = "" if trim else "#"
    return f"{Decimal(f'{value:{zeros}.{digits}g}'):f}"


def interval(estimate: Estimate | None, digits: int, signed: bool = False) -> str:
    """Return ``mean ± half-width (n)``; the mean alone where there is no half-width."""
    if estimate is None:
        return NOTHING
    half = "" if estimate.half is None else f" ± {fixed(estimate.half, digits)}"
    return f"{fixed(estimate.mean, digits, signed)}{half} ({estimate.n})"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a pipe table; the first column is flush left, the others right.

    Args:
        headers: one for each column.
        rows: cells that are Markdown already.
    """
    align = ("left", *["right"] * (len(headers) - 1))
    return tabulate(rows, headers, tablefmt="pipe", colalign=align, disable_numparse=True)


def environment() -> jinja2.Environment:
    """Return the environment of the page templates: ``escape`` is a filter, what is missing is an error."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("benchsuite.boards"),
        autoescape=False,  # pages are Markdown: an HTML escape would be the wrong one
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["escape"] = escape
    made.filters["link"] = link
    made.filters["venue"] = venue
    return made
