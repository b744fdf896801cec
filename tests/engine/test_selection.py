"""What a request selects."""

from __future__ import annotations

import pytest

from benchsuite.engine.selection import Request, select, select_tasks
from benchsuite.engine.specs import choose, parse_spec
from benchsuite.errors import PluginError, UsageError
from benchsuite.host import HostOptions, load_catalogue


def labels(choices):
    return [choice.ref.label for choice in choices]


def combinations(selected):
    return [tuple(ref.label for ref in methods.values()) for methods in selected.combinations]


def test_a_spec_is_a_name_and_its_pins():
    spec = parse_spec(" topgq[bits=4|2, norm = none] ")
    assert spec.name == "topgq"
    assert spec.pins == {"bits": ("4", "2"), "norm": ("none",)}
    assert parse_spec("topgq").pins == {}
    assert parse_spec("topgq[]").pins == {}


@pytest.mark.parametrize(
    "text", ["", "a[bits", "a]", "a[bits]", "a[=4]", "a[bits=]", "a b", "a[bits=4,bits=8]", "[x=1]"]
)
def test_a_spec_that_cannot_be_read_is_refused(text):
    with pytest.raises(UsageError, match="cannot be read"):
        parse_spec(text)


def test_an_unpinned_parameter_takes_its_grid_and_one_without_a_grid_its_default(catalogue):
    assert labels(choose(catalogue, ["toy-good"])) == ["toy-good[bits=8,share=0.5]", "toy-good[bits=4,share=0.5]"]


def test_pins_replace_the_grid_and_multiply(catalogue):
    chosen = labels(choose(catalogue, ["toy-good[bits=2|3,share=0|1]"]))
    assert chosen == [f"toy-good[bits={bits},share={share}]" for bits in (2, 3) for share in (0.0, 1.0)]


def test_a_plugins_name_is_all_of_its_methods_and_pins_choose_among_them(catalogue):
    assert {choice.card.name for choice in choose(catalogue, ["toy"])} == {
        name for name in catalogue.methods if name.startswith("toy-")
    }
    assert labels(choose(catalogue, ["toy[bits=4]"])) == ["toy-good[bits=4,share=0.5]"]


def test_one_method_of_a_plugin_can_be_named_with_the_plugin(catalogue):
    assert labels(choose(catalogue, ["toy/toy-reference"])) == ["toy-reference"]
    with pytest.raises(UsageError, match=r"plugin 'toy' has no method 'toy-refrence'. Did you mean 'toy-reference'"):
        choose(catalogue, ["toy/toy-refrence"])


def test_the_same_method_named_twice_counts_once(catalogue):
    assert labels(choose(catalogue, ["toy-good[bits=4]", "toy[bits=4]", "toy-good[bits=4,share=0.5]"])) == [
        "toy-good[bits=4,share=0.5]"
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("toy-god", "there is no plugin or method 'toy-god'. Did you mean 'toy-good'"),
        ("tpy", "there is no plugin or method 'tpy'. Did you mean 'toy'"),
        ("tpy/x", "there is no plugin 'tpy'. Did you mean 'toy'"),
        ("toy-good[bit=4]", "method 'toy-good' has no parameter 'bit'. Did you mean 'bits'"),
        ("toy[bit=4]", "no method of plugin 'toy' has a parameter 'bit'. Did you mean 'bits'"),
        ("toy[bits=4,how=raise]", "no method of plugin 'toy' has all of the parameters bits, how"),
        ("toy-good[bits=9]", "parameter 'bits' = 9 is out of range. It takes int from 2 to 8"),
        ("toy-good[bits=four]", "parameter 'bits' takes int, not 'four'"),
        ("toy-good[share=nan]", "parameter 'share' = nan is out of range"),
        ("toy-bad[how=raze]", "parameter 'how' has no value 'raze'"),
    ],
)
def test_what_does_not_exist_is_refused_with_the_near_name(catalogue, spec, message):
    with pytest.raises(UsageError) as caught:
        choose(catalogue, [spec])
    assert str(caught.value).startswith(message)


def test_a_broken_plugin_that_is_needed_is_an_error_with_its_cause(tmp_path):
    folder = tmp_path / "sick"
    (folder / "benchsuite_sick").mkdir(parents=True)
    (folder / "benchsuite_sick" / "__init__.py").write_text("import no_such_thing\n")
    project = '[project]\nname = "benchsuite-sick"\nversion = "1"\n'
    project += '[project.entry-points.benchsuite]\nsick = "benchsuite_sick"\n'
    (folder / "pyproject.toml").write_text(project)
    catalogue = load_catalogue(HostOptions(plugin_paths=(folder,)))
    with pytest.raises(PluginError, match=r"'sick'.*import.*no_such_thing"):
        choose(catalogue, ["sick"])


def test_tasks_come_from_the_suite_and_globs_pick_within_it(catalogue):
    assert [card.name for card in select_tasks(catalogue, [], "toy")] == ["toy-more", "toy-one"]
    assert [card.name for card in select_tasks(catalogue, ["*-one", "toy-o*"], "toy")] == ["toy-one"]
    assert [card.name for card in select_tasks(catalogue, ["toy-*"], None)] == [
        "toy-absent",
        "toy-more",
        "toy-one",
        "toy-two",
    ]


def test_without_tasks_the_quick_suite_is_run(catalogue):
    assert select_tasks(catalogue, [], None) == list(catalogue.suite("quick"))


@pytest.mark.parametrize(
    ("patterns", "suite", "message"),
    [
        (["toy-on"], None, "there is no task 'toy-on'. Did you mean 'toy-one'"),
        (["tyo-*"], None, "no task matches 'tyo-*'"),
        (["toy-two"], "toy", "suite 'toy' has no task 'toy-two'"),
        ([], "toi", "there is no suite 'toi'. Did you mean 'toy'"),
    ],
)
def test_a_pattern_that_matches_nothing_is_refused(catalogue, patterns, suite, message):
    with pytest.raises(UsageError) as caught:
        select_tasks(catalogue, patterns, suite)
    assert str(caught.value).startswith(message)


def test_the_reference_comes_first_and_seeds_are_the_tasks_own_or_the_users(catalogue):
    [one] = select(catalogue, Request(("toy-good[bits=4]",), ("toy-one",)))
    assert combinations(one) == [("toy-reference",), ("toy-good[bits=4,share=0.5]",)]
    assert one.seeds == (0, 1, 2)
    [one] = select(catalogue, Request(("toy-good",), ("toy-one",), seeds=2))
    assert one.seeds == (0, 1)
    assert [(c.label, c.seed) for c in one.cells("d")][:3] == [
        ("toy-reference", 0),
        ("toy-reference", 1),
        ("toy-good[bits=8]", 0),
    ]


def test_naming_the_reference_itself_gives_it_once(catalogue):
    [one] = select(catalogue, Request(("toy-reference",), ("toy-one",)))
    assert combinations(one) == [("toy-reference",)]


def test_a_two_factor_task_crosses_its_factors_and_a_missing_one_takes_the_reference(catalogue):
    [two] = select(catalogue, Request(("toy-stages",), ("toy-two",)))
    assert combinations(two) == [("toy-norm", "toy-joint"), ("toy-norm", "toy-stages")]
    [two] = select(catalogue, Request(("toy-stages", "toy-prenorm"), ("toy-two",)))
    assert combinations(two) == [
        ("toy-norm", "toy-joint"),
        ("toy-norm", "toy-stages"),
        ("toy-prenorm", "toy-joint"),
        ("toy-prenorm", "toy-stages"),
    ]


def test_a_task_that_takes_none_of_the_methods_is_left_out(catalogue):
    selected = select(catalogue, Request(("toy-stages",), ("toy-*",)))
    assert [each.card.name for each in selected] == ["toy-two"]


def test_a_method_that_fits_no_selected_task_is_refused(catalogue):
    with pytest.raises(UsageError, match=r"'toy-probe' is a probe, which none of the selected tasks takes"):
        select(catalogue, Request(("toy-good", "toy-probe"), ("toy-*",)))


def test_without_a_method_each_task_takes_its_line_up(catalogue):
    [one] = select(catalogue, Request((), ("toy-one",)))
    assert combinations(one) == [
        ("toy-reference",),
        ("toy-good[bits=8,share=0.5]",),
        ("toy-good[bits=4,share=0.5]",),
    ]


def test_a_task_without_a_line_up_that_is_here_needs_a_method(catalogue):
    with pytest.raises(UsageError, match="no method is named, and task 'toy-more' proposes none that is here"):
        select(catalogue, Request((), ("toy-one", "toy-more")))


def test_a_request_without_seeds_is_refused(catalogue):
    with pytest.raises(UsageError, match="leaves nothing to run"):
        select(catalogue, Request(("toy-good",), seeds=0))


def test_only_a_name_written_out_is_explicit(catalogue):
    [one] = select(catalogue, Request(("toy-good",), ("toy-one",)))
    [glob] = select(catalogue, Request(("toy-good",), ("toy-on*",)))
    assert (one.explicit, glob.explicit) == (True, False)
