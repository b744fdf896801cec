"""The picture of a board: what a method loses against what it costs, one panel for each task."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.style import context
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, SymmetricalLogLocator

from benchsuite.boards.markdown import plain, significant
from benchsuite.boards.points import bent, points, tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from matplotlib.axes import Axes

    from benchsuite.boards.board import Board
    from benchsuite.boards.points import Point
    from benchsuite.boards.taskboard import TaskBoard

#: Ten colours that stay apart under the common colour-vision deficiencies (Petroff 2021, arXiv 2107.02270).
PALETTE = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#94a4a2",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#92dadd",
)
#: One marker for each bit-width in order of appearance from wide to narrow.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

#: Most panels side by side.
COLUMNS = 4
#: Width and height of one, in inches.
PANEL = (3.1, 2.5)
#: Inches that one letter of a name takes in the legend, and that the bit-widths beside the names take.
LETTER, WIDTHS = 0.078, 2.0
#: Narrowest picture, in inches: the axis titles and the legend need as much.
NARROWEST = 6.0
#: Costs that span more than this factor get a tick at powers of ten alone.
WIDE = 100.0
#: Costs that span less than this factor get evenly spaced ticks: 1, 2 and 5 would leave one or none.
NARROW = 4.0

#: matplotlib's settings of every picture.
STYLE: dict[str, Any] = {
    "svg.hashsalt": "benchsuite",
    "svg.fonttype": "path",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "xtick.color": "#444444",
    "ytick.color": "#444444",
}


@dataclass(frozen=True)
class Look:
    """How points are drawn: the same in all panels."""

    colours: Mapping[str, str]
    """By family."""
    markers: Mapping[int | None, str]
    """By bit-width."""
    bent: bool
    """Whether the difference axis is logarithmic beyond one point."""
    span: float
    """Highest cost over lowest."""
    shams: frozenset[str]
    """Families that are controls: hollow markers."""


def draw(board: Board, format: str = "svg") -> bytes | None:
    """Return the picture, or None where there is nothing to draw.

    On one version of matplotlib the same board gives the same bytes.

    Args:
        board: the board.
        format: ``svg`` or ``png``.
    """
    panels = [(task, found) for task in board.overview if (found := points(task))]
    if not panels:
        return None
    with context(["default", STYLE]):  # whatever the user's matplotlibrc says
        figure = _figure(panels)
        out = io.BytesIO()
        # The only text in it that is no picture: which records it was made from.
        about = {"Description": tag(board), "Date": None, "Creator": None} if format == "svg" else None
        figure.savefig(out, format=format, metadata=about, facecolor="white", dpi=130)
    return out.getvalue()


def _figure(panels: Sequence[tuple[TaskBoard, list[Point]]]) -> Figure:
    look = _look([point for _, found in panels for point in found])
    rows = math.ceil(len(panels) / COLUMNS)
    columns = math.ceil(len(panels) / rows)
    methods, widths = list(_families(look)), list(_widths(look))
    name = 0.45 + LETTER * max(len(str(handle.get_label())) for handle in methods)
    width = max(PANEL[0] * columns, NARROWEST, name + WIDTHS)
    legend_columns = int((width - WIDTHS) / name)
    legend_rows = max(math.ceil(len(methods) / legend_columns), math.ceil(len(widths) / 2))
    figure = Figure(figsize=(width, PANEL[1] * rows + 0.4 + 0.2 * legend_rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axis, (task, found) in zip(grid.flat, panels, strict=False):
        _panel(axis, task, found, look)
    _tidy(grid, len(panels))
    figure.supxlabel("Cost (forwards of the reference model)", fontsize=9.5)
    for axis in grid[:, 0]:
        axis.set_ylabel(_difference_title([task for task, _ in panels]))
    figure.legend(handles=methods, loc="outside upper left", ncols=legend_columns, frameon=False)
    if widths:
        figure.legend(handles=widths, loc="outside upper right", ncols=2, frameon=False)
    return figure


def _difference_title(tasks: Sequence[TaskBoard]) -> str:
    units = {(task.metric.name, task.metric.unit) for task in tasks}
    if len(units) > 1:
        return "Difference to the reference"
    name, unit = units.pop()
    of = {"%": " (points)", "": ""}.get(unit, f" ({unit})")
    return f"{name.replace('_', ' ').capitalize()} - reference{of}"


def _look(found: Sequence[Point]) -> Look:
    families = sorted({point.family for point in found})
    widths = sorted({point.bits for point in found}, key=lambda bits: -(bits or math.inf))
    costs = [point.cost for point in found]
    return Look(
        colours={family: _colour(i) for i, family in enumerate(families)},
        markers={bits: MARKERS[i % len(MARKERS)] for i, bits in enumerate(widths)},
        bent=bent(found),
        span=max(costs) / min(costs),
        shams=frozenset(point.family for point in found if point.sham),
    )


def _colour(number: int) -> str:
    """Return the palette's colours, then the same again in dark."""
    shade = 0.5 if number // len(PALETTE) % 2 else 1.0
    red, green, blue = to_rgb(PALETTE[number % len(PALETTE)])
    return to_hex((shade * red, shade * green, shade * blue))


def _panel(axis: Axes, task: TaskBoard, found: Sequence[Point], look: Look) -> None:
    axis.set_title(plain(task.name))
    axis.axhline(0, color="#222222", linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    axis.grid(axis="both", color="#e6e6e6", linewidth=0.6)
    axis.set_axisbelow(True)
    for point in found:
        colour = look.colours[point.family]
        axis.errorbar(
            point.cost,
            point.difference.mean,
            yerr=point.difference.half,
            color=colour,
            marker=look.markers[point.bits],
            markersize=5.5,
            markerfacecolor="white" if point.sham else colour,
            markeredgecolor=colour if point.sham else "white",
            markeredgewidth=1.1 if point.sham else 0.5,
            elinewidth=1.1,
            capsize=2,
            zorder=3,
        )
    _scales(axis, look)
    if not task.metric.higher_is_better:
        axis.invert_yaxis()  # better is up in every panel


def _scales(axis: Axes, look: Look) -> None:
    axis.set_xscale("log")
    axis.margins(x=0.12, y=0.12)
    if look.span < NARROW:
        axis.xaxis.set_major_locator(MaxNLocator(nbins=5))
    else:
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0,) if look.span > WIDE else (1.0, 2.0, 5.0), numticks=6))
    if look.bent:
        axis.set_yscale("symlog", linthresh=1.0)
        axis.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1.0, subs=[1.0, 3.0]))
    # matplotlib's own labels of a log axis are formulas, and formulas are off: a task's name may hold a dollar sign.
    for ticks in (axis.xaxis, axis.yaxis) if look.bent else (axis.xaxis,):
        ticks.set_major_formatter(FuncFormatter(lambda value, _: significant(value, trim=True)))
        ticks.set_minor_formatter(NullFormatter())


def _tidy(grid: np.ndarray, used: int) -> None:
    """Hide the empty places of the last row; what hangs above one needs tick labels of its own."""
    columns = grid.shape[1]
    for place, axis in enumerate(grid.flat):
        if place >= used:
            axis.set_visible(False)
        elif place + columns >= used:
            axis.tick_params(labelbottom=True)


def _families(look: Look) -> Iterator[Line2D]:
    """Yield the first legend: a colour for each method."""
    for family, colour in look.colours.items():
        sham = family in look.shams
        yield _handle(f"{family} (sham)" if sham else family, "o", colour, "white" if sham else colour)


def _widths(look: Look) -> Iterator[Line2D]:
    """Yield the second legend: a marker for each bit-width; nothing where no method has one."""
    if set(look.markers) == {None}:
        return
    for bits, marker in look.markers.items():
        yield _handle("no bit-width" if bits is None else f"INT{bits}", marker, "#444444", "#444444")


def _handle(label: str, marker: str, color: str, face: str) -> Line2D:
    # A label that starts with an underscore would be left out of the legend.
    shown = "\u200b" + label if label.startswith("_") else label
    return Line2D(
        [], [], label=shown, marker=marker, markersize=5.5, color=color, markerfacecolor=face, linestyle="none"
    )
