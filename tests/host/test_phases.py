"""Each way in which a plugin can be broken: what it costs, and what is said."""

from __future__ import annotations

import sys

import pytest

from benchsuite.host import load_catalogue

IMPORTS = "from benchsuite.plugin import *\nfrom benchsuite.plugin import hookimpl\n"


def methods(*cards: str) -> str:
    return f"{IMPORTS}@hookimpl\ndef benchsuite_methods():\n    return [{', '.join(cards)}]\n"


def card(**changes: str) -> str:
    fields = {"name": "'alpha'", "kind": "'quantizer'", "target": "__name__ + ':M'", "summary": "'S'", **changes}
    return f"MethodCard({', '.join(f'{k}={v}' for k, v in fields.items())})"


def hook(signature: str, body: str = "return []", marker: str = "@hookimpl") -> str:
    return f"{IMPORTS}{marker}\ndef {signature}:\n    {body}\n"


CASES = {
    "raises": ("raise RuntimeError('boom')", "import", "RuntimeError: boom (__init__.py, line 1)"),
    "exits": ("import sys\nsys.exit(3)", "import", "SystemExit: 3"),
    "syntax": ("def f(:\n", "import", "SyntaxError: "),
    "dependency": ("import no_such_library", "import", "No module named 'no_such_library'"),
    "two-lines": ("raise ValueError('one\\ntwo')", "import", "ValueError: one two"),
    "no-hook": ("x = 1", "register", "has no function with @hookimpl"),
    "wrapper": (
        hook("benchsuite_methods()", "return (yield)", "@hookimpl(wrapper=True)"),
        "register",
        "benchsuite_methods is a wrapper",
    ),
    "unknown-hook": (hook("benchsuite_method()"), "hook", "no hook 'benchsuite_method'. Did you mean 'benchsuite_m"),
    "unmarked": (hook("benchsuite_methods()", marker="# unmarked"), "hook", "write @hookimpl above it"),
    "keyword-only": (hook("benchsuite_columns(*, board)"), "signature", "keyword-only argument 'board'"),
    "keywords": (hook("benchsuite_columns(**kwargs)"), "signature", "variadic keyword argument 'kwargs'"),
    "positionals": (hook("benchsuite_columns(*args)"), "signature", "variadic positional argument 'args'"),
    "extra": (hook("benchsuite_columns(board, seed)"), "signature", "takes 'seed', which the hook lacks: it has board"),
    "default": (hook("benchsuite_columns(board, seed=0)"), "signature", "takes 'seed'"),
    "none-taken": (hook("benchsuite_methods(root)"), "signature", "it has no argument"),
    "collect-raises": (hook("benchsuite_methods()", "raise KeyError('k')"), "collect", "KeyError: 'k' (__init__.py"),
    "collect-exits": (hook("benchsuite_methods()", "raise SystemExit(1)"), "collect", "SystemExit: 1"),
    "generator": (hook("benchsuite_methods()", "yield 1"), "collect", "returned generator, not a list"),
    "dict": (hook("benchsuite_tasks()", "return {}"), "collect", "benchsuite_tasks() returned dict, not a list"),
    "nothing": (hook("benchsuite_datasets()", "pass"), "collect", "benchsuite_datasets() returned NoneType"),
    "no-card": (methods("dict(name='x')"), "validate", "benchsuite_methods()[0] is a dict, not a MethodCard"),
    "other-card": (hook("benchsuite_tasks()", f"return [{card()}]"), "validate", "is a MethodCard, not a TaskCard"),
    "contract": (
        methods(card(contract="7")),
        "validate",
        "method 'alpha' is made for quantizer contract 7; this benchsuite has 1",
    ),
    "foreign-target": (methods(card(target="'os:system'")), "validate", "target 'os:system', which is outside"),
    "prefix-target": (methods(card(target="__name__ + '_x:M'")), "validate", "which is outside"),
    "foreign-fetch": (
        f"{IMPORTS}@hookimpl\ndef benchsuite_datasets():\n    return [DatasetCard(name='d', target=__name__ + ':f',"
        " summary='S', licence='L', source='S', fetch='os:remove')]",
        "validate",
        "fetch 'os:remove', which is outside",
    ),
    "twice": (methods(card(), card()), "validate", "two cards named 'alpha'"),
    "invalid-card": (methods(card(kind="'quantiser'", sumary="'S'")), "validate", "MethodCard: kind: Input should be"),
    "invalid-at-import": (f"{IMPORTS}CARD = {card(name='1')}", "validate", "MethodCard: name: Input should be a valid"),
    "domain": (
        methods(card(parameters="(Parameter(name='bits', default=9, high=8, doc='D'),)")),
        "validate",
        "parameter 'bits' = 9 is out of range",
    ),
    "unchecked": (methods("MethodCard.model_construct(name='A b')"), "validate", "kind: Field required"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_broken_plugin_costs_itself_alone(workshop, case):
    body, phase, cause = CASES[case]
    folder = workshop.folder("broken", body)
    workshop.folder("good")
    catalogue = load_catalogue(workshop.options())
    (broken,) = catalogue.broken
    assert (broken.name, broken.origin, broken.location, broken.phase) == ("broken", "path", folder, phase)
    assert cause in broken.cause
    assert "\n" not in str(broken)
    assert list(catalogue.methods) == ["good"]


def test_a_module_that_is_not_there_is_named(workshop):
    folder = workshop.root / "path" / "alpha"
    workshop.pyproject(folder, 'alpha = "host_test_not_there"')
    (broken,) = load_catalogue(workshop.options()).broken
    assert broken.phase == "import"
    assert "no module 'host_test_not_there'" in broken.cause
    assert str(folder) in broken.cause


def test_a_folder_cannot_pass_off_a_library_as_its_plugin(workshop):
    """Without a check the module would come from wherever Python finds it."""
    workshop.pyproject(workshop.root / "path" / "alpha", 'alpha = "json"')
    (broken,) = load_catalogue(workshop.options()).broken
    assert broken.phase == "import"
    assert "another module 'json' is already imported" in broken.cause


def test_two_folders_with_one_package_name_do_not_get_each_others_code(workshop):
    package = workshop.package()
    workshop.folder("alpha", package=package)
    workshop.folder("beta", package=package)
    catalogue = load_catalogue(workshop.options())
    assert list(catalogue.methods) == ["alpha"]
    (broken,) = catalogue.broken
    assert (broken.name, broken.phase) == ("beta", "import")
    assert "already imported" in broken.cause


def test_ctrl_c_while_a_plugin_is_imported_is_the_users(workshop):
    workshop.folder("alpha", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_catalogue(workshop.options())


def test_a_failed_import_leaves_nothing_behind(workshop):
    folder = workshop.folder("alpha", "from . import helper\nraise RuntimeError('boom')")
    package = workshop.packages[0]
    (folder / package / "helper.py").write_text("")
    load_catalogue(workshop.options())
    assert [name for name in sys.modules if name.startswith(package)] == []
    (folder / package / "__init__.py").write_text("from . import helper\nfrom benchsuite.plugin import hookimpl\n")
    (broken,) = load_catalogue(workshop.options()).broken
    assert broken.phase == "register"


def test_sys_path_is_left_alone_and_nothing_in_the_folder_shadows_a_library(workshop):
    folder = workshop.folder("alpha")
    (folder / "pluggy.py").write_text("raise RuntimeError('shadowed')")
    before = list(sys.path)
    assert list(load_catalogue(workshop.options()).methods) == ["alpha"]
    assert sys.path == before


def test_a_single_file_is_a_plugin_too(workshop):
    folder = workshop.folder("alpha")
    package = workshop.packages[0]
    (folder / package / "__init__.py").rename(folder / f"{package}.py")
    (folder / package).rmdir()
    catalogue = load_catalogue(workshop.options())
    assert list(catalogue.methods) == ["alpha"]
    assert len(catalogue.plugins[0].source_hash()) == 64


def test_what_a_plugin_prints_does_not_reach_stdout(workshop, capsys):
    workshop.folder("alpha", "print('noise at import')\n" + hook("benchsuite_methods()", "print('more'); return []"))
    load_catalogue(workshop.options())
    out, err = capsys.readouterr()
    assert out == ""
    assert "noise at import" in err
    assert "more" in err


def test_a_distribution_whose_module_is_gone_is_broken_in_import(workshop, monkeypatch):
    monkeypatch.syspath_prepend(workshop.distribution("installed-one", workshop.package()))
    (broken,) = load_catalogue(workshop.options(plugin_paths=())).broken
    assert (broken.name, broken.origin, broken.phase) == ("installed-one", "installed", "import")
    assert "No module named" in broken.cause
