"""The picture of a two-factor board: training loss against what was spent, one row of panels for each task."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.style import context
from matplotlib.ticker import EngFormatter

from benchsuite.boards.curves import curves
from benchsuite.boards.markdown import plain
from benchsuite.boards.picture import PALETTE, STYLE
from benchsuite.boards.points import tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from benchsuite.boards.board import Board
    from benchsuite.boards.curves import Curve
    from benchsuite.host import Catalogue

#: One for each level of the first factor.
LINES: tuple[Any, ...] = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1.2)),
    (0, (5, 1.5, 1, 1.5)),
)
PANEL = (4.2, 2.9)
#: The first points of a curve are far above all others and would press these together: the axis ends at what this
#: share of all points keeps below.
SHOWN = 0.95


def draw_curves(board: Board, catalogue: Catalogue, format: str = "svg") -> bytes | None:
    """Return the picture, or None where no record has a curve.

    Args:
        board: of curricula.
        catalogue: all cards.
        format: ``svg`` or ``png``.
    """
    panels = [(task.name, found) for task in board.tasks if (found := curves(task, catalogue))]
    if not panels:
        return None
    with context(["default", STYLE]):
        figure = _figure(panels)
        out = io.BytesIO()
        about = {"Description": tag(board), "Date": None, "Creator": None} if format == "svg" else None
        figure.savefig(out, format=format, metadata=about, facecolor="white", dpi=130)
    return out.getvalue()


def _figure(panels: Sequence[tuple[str, Sequence[Curve]]]) -> Figure:
    every = [curve for _, found in panels for curve in found]
    colours = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(dict.fromkeys(c.second for c in every))}
    lines = {name: LINES[i % len(LINES)] for i, name in enumerate(dict.fromkeys(c.first for c in every))}
    figure = Figure(figsize=(2 * PANEL[0], PANEL[1] * len(panels) + 0.4), layout="constrained")
    grid = figure.subplots(len(panels), 2, squeeze=False, sharey="row")
    for axes, (name, found) in zip(grid, panels, strict=True):
        seeds = sorted({curve.seeds for curve in found})
        shown = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}-{seeds[-1]}"
        axes[0].set_title(f"{plain(name)}, mean of {shown} seed{'' if shown == '1' else 's'}", loc="left")
        axes[0].set_ylabel("Training loss (nats)")
        # The longest first: a shorter one that begins like it would lie hidden below.
        for curve in sorted(found, key=lambda curve: -curve.steps[-1]):
            look: dict[str, Any] = {"color": colours[curve.second], "linestyle": lines[curve.first], "linewidth": 1.3}
            look |= {"marker": "o", "markersize": 4, "markevery": list(curve.appends)}
            axes[0].plot(curve.steps, curve.loss, **look)
            axes[1].plot(curve.spent, curve.loss, **look)
        _tidy(axes, found)
    grid[-1, 0].set_xlabel("Steps")
    grid[-1, 1].set_xlabel("Active-layer tokens")
    handles = [Line2D([], [], color=colour, label=plain(name)) for name, colour in colours.items()]
    handles += [Line2D([], [], color="#444444", linestyle=line, label=plain(name)) for name, line in lines.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 7), frameon=False)
    return figure


def _tidy(axes: Sequence[Axes], found: Sequence[Curve]) -> None:
    points = sorted(loss for curve in found for loss in curve.loss)
    low, high = points[0], points[min(len(points) - 1, int(SHOWN * len(points)))]
    margin = 0.04 * (high - low) or 0.1
    axes[0].set_ylim(low - margin, high + margin)
    axes[1].xaxis.set_major_formatter(EngFormatter(sep=" "))
    for axis in axes:
        axis.grid(axis="both", color="#e6e6e6", linewidth=0.6)
        axis.set_axisbelow(True)
