"""The picture: what is in it, and that its bytes are stable."""

from __future__ import annotations

from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib.colors import to_rgb

from benchsuite.boards.board import make_board
from benchsuite.boards.picture import PALETTE, _figure, draw
from benchsuite.boards.points import bent, points, tag
from benchsuite.contracts.cards import Metric


@pytest.fixture
def board(scene):
    return make_board(scene.store, scene.catalogue, "quantizer")


def test_points_are_rows_with_a_difference_and_a_cost(board):
    found = [(p.family, p.bits, p.cost, round(p.difference.mean, 2)) for p in points(board.tasks[0])]
    assert found == [("fine", 8, 4.0, -0.07), ("rough", 8, 900.0, -2.0), ("fine", 4, 4.0, -0.97)]


def test_a_cost_of_zero_has_no_place_on_a_log_axis(scene):
    scene.records += scene.desk.runs(
        scene.task, scene.rough, [78.0] * 3, params={"bits": 4}, measured={"cost_ratio": 0.0}
    )
    (task,) = make_board(scene.store, scene.catalogue, "quantizer").tasks
    assert len(task.rows) == 5
    assert len(points(task)) == 3


def test_the_axis_bends_for_a_collapse(scene):
    (task,) = make_board(scene.store, scene.catalogue, "quantizer").tasks
    assert not bent(points(task))
    scene.records += scene.desk.runs(scene.task, scene.rough, [20.0] * 3, params={"bits": 4})
    (task,) = make_board(scene.store, scene.catalogue, "quantizer").tasks
    assert bent(points(task))


def test_bytes_are_stable_and_carry_no_date(board):
    picture = draw(board)
    assert draw(board) == picture
    text = picture.decode()
    assert "<dc:date>" not in text
    assert mpl.__version__ not in text
    assert tag(board) in text
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_users_own_settings_change_nothing_and_stay(board):
    picture = draw(board)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": None}):
        assert draw(board) == picture
        assert mpl.rcParams["font.size"] == 30


@pytest.mark.parametrize("number", [1, 12])
def test_every_number_of_panels_can_be_drawn(scene, number):
    tasks = [scene.desk.task(f"task-{i}") for i in range(number)]
    methods = [scene.fp32, scene.fine, scene.desk.method("rough", sham=True)]
    records = [
        r for t in tasks for i, m in enumerate(methods) for r in scene.desk.runs(t, m, [80.0 - i * 9, 81.0 - i * 9])
    ]
    board = make_board(scene.desk.store(records), scene.desk.catalogue(*tasks, *methods), "quantizer")
    image = draw(board, "png")
    assert image.startswith(b"\x89PNG")


def test_names_are_drawn_as_they_are(scene):
    """Dollar signs are no formula, a leading underscore hides nothing, and a long name makes the picture wider."""
    widths = []
    for name in ("short", "_a $\\frac{1}$ " + "long " * 30):
        key = {"methods": {"quantizer": {"name": name, "version": "1", "params": {"bits": 8}}}}
        odd = [scene.desk.record(scene.task, scene.fine, seed, 80.0 + seed, key=key) for seed in range(3)]
        board = make_board(scene.desk.store(scene.records, odd), scene.catalogue, "quantizer")
        widths.append(float(ElementTree.fromstring(draw(board)).attrib["width"].removesuffix("pt")))
    assert widths[1] > 2 * widths[0]


def figure(board):
    return _figure([(task, points(task)) for task in board.tasks])


def placement_board(desk, ratios):
    """Return a board without bit-widths: on the first task higher is better, on the second lower."""
    lower = (Metric(name="area", unit="%", higher_is_better=False),)
    shared = {"factors": ("norm_placement",), "reference": {"norm_placement": "plain"}}
    tasks = [desk.task("high", **shared), desk.task("low", metrics=lower, **shared)]
    methods = [desk.method(name, bits=False, kind="norm_placement") for name in ("plain", "one", "two")]
    records = [
        r
        for task in tasks
        for i, (method, ratio) in enumerate(zip(methods, ratios, strict=True))
        for r in desk.runs(task, method, [80.0 + i, 81.0 + i], measured={"cost_ratio": ratio})
    ]
    return make_board(desk.store(records), desk.catalogue(*tasks, *methods), "norm_placement")


def test_better_is_up_in_every_panel(desk):
    high, low = figure(placement_board(desk, (1.0, 1.1, 1.3))).axes
    assert high.get_ylim()[0] < high.get_ylim()[1]
    assert low.get_ylim()[0] > low.get_ylim()[1]


@pytest.mark.parametrize("ratios", [(1.0, 0.95, 1.05), (1.0, 1.1, 3.5), (1.0, 2.0, 60.0)])
def test_the_cost_axis_has_ticks_however_narrow(desk, ratios):
    axis = figure(placement_board(desk, ratios)).axes[0]
    low, high = axis.get_xlim()
    assert sum(low <= tick <= high for tick in axis.get_xticks()) >= 2


def test_a_board_without_bit_widths_has_no_legend_of_them(desk, board):
    assert "INT8" in legends(board)
    assert legends(placement_board(desk, (1.0, 1.1, 1.3))) == ["one", "two"]


def legends(board):
    return [text.get_text() for legend in figure(board).legends for text in legend.get_texts()]


def test_nothing_to_draw(scene):
    board = make_board(scene.desk.store(scene.records[3:]), scene.catalogue, "quantizer")
    assert draw(board) is None


def test_colours_differ_in_lightness_or_hue():
    assert len({to_rgb(colour) for colour in PALETTE}) == len(PALETTE)
