"""The contract's checks, for a plugin's own tests and for ``benchsuite check``.

A check is a function of one subject: the plugin's folder, or one of its methods. It returns None or a remark; it raises
:class:`~benchsuite.errors.ProtocolError`, which says what was found, what is wanted and how to mend it. In a plugin's
tests::

    PLUGIN = PluginFolder(Path(__file__).parents[1])
    METHODS = [Specimen(card) for card in benchsuite_methods()]

    @pytest.mark.parametrize("check", folder_checks(), ids=check_name)
    def test_folder(check):
        check(PLUGIN)

    @pytest.mark.parametrize("method", METHODS, ids=str)
    @pytest.mark.parametrize("check", quantizer_checks(), ids=check_name)
    def test_method(check, method):
        check(method)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchsuite.testing import card_checks, conduct_checks, prediction_checks
from benchsuite.testing.folder import FOLDER_CHECKS, PluginFolder
from benchsuite.testing.specimen import Specimen

if TYPE_CHECKING:
    from benchsuite.contracts.cards import Kind

__all__ = [
    "FolderCheck",
    "MethodCheck",
    "PluginFolder",
    "Specimen",
    "check_name",
    "folder_checks",
    "method_checks",
    "quantizer_checks",
]

FolderCheck = Callable[[PluginFolder], "str | None"]
MethodCheck = Callable[[Specimen], "str | None"]


def folder_checks() -> tuple[FolderCheck, ...]:
    """Return the checks of a plugin's folder."""
    return FOLDER_CHECKS


def method_checks(kind: Kind) -> tuple[MethodCheck, ...]:
    """Return the checks of a method of that kind: all there are for a quantizer, the card's for the other kinds."""
    if kind == "quantizer":
        return quantizer_checks()
    return (card_checks.card_is_valid, card_checks.card_names_its_sources, card_checks.target_loads)


def quantizer_checks() -> tuple[MethodCheck, ...]:
    """Return the checks of a quantizer, cheap ones first."""
    return (
        card_checks.card_is_valid,
        card_checks.card_names_its_sources,
        card_checks.target_loads,
        card_checks.target_quantizes,
        prediction_checks.logits_have_shape_and_dtype,
        prediction_checks.logits_are_finite,
        prediction_checks.small_graphs_are_predicted,
        prediction_checks.unseen_graphs_are_predicted,
        prediction_checks.nodes_may_be_renumbered,
        prediction_checks.predict_is_repeatable,
        prediction_checks.same_seed_gives_same_logits,
        conduct_checks.inputs_are_untouched,
        conduct_checks.labels_are_left_alone,
        conduct_checks.process_is_left_as_it_was,
        conduct_checks.state_is_packed,
        conduct_checks.execution_names_the_products,
        conduct_checks.diagnostics_are_json,
        prediction_checks.every_backbone_works_or_is_refused,
        prediction_checks.declared_values_work,
    )


def check_name(check: Any) -> str:
    """Return a check's name, for lists and for pytest's ids."""
    return str(check.__name__).replace("_", "-")
