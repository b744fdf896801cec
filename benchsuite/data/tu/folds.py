"""Ten folds: the standard ones, and those that an archive brings along."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchsuite.contracts.dataset import Split
from benchsuite.data.edges import mask
from benchsuite.errors import MissingDataError

FOLDS, SEED = 10, 12345


def stratified_folds(y: np.ndarray) -> tuple[Split, ...]:
    """Return the ten folds of PyTorch Geometric's kernel benchmark (``benchmark/kernel/train_eval.py``).

    The graphs are dealt into ten parts, each with the classes' proportions. Fold k tests on part k and validates on
    part k - 1 (fold 0 on the last); the other eight train.

    Args:
        y: ``[graphs]`` classes.

    Raises:
        MissingDataError: a class has fewer than ten graphs.
    """
    deal = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    smallest = int(np.bincount(y).min()) if len(y) else 0
    if smallest < FOLDS:
        message = f"a class has {smallest} graphs, and ten folds need ten of each"
        raise MissingDataError(message, "Get the original files again")
    return from_parts([part for _, part in deal.split(np.zeros(len(y)), y)], len(y))


def from_parts(parts: list[np.ndarray], graphs: int) -> tuple[Split, ...]:
    """Return the folds where part k tests and the one before it validates.

    Args:
        parts: indices of graphs; each graph is in one part.
        graphs: how many graphs there are.
    """
    tests = [mask(part, graphs) for part in parts]
    return tuple(Split(~(tests[k - 1] | test), tests[k - 1], test) for k, test in enumerate(tests))


def checked_parts(train: list[np.ndarray], test: list[np.ndarray], graphs: int, where: str) -> list[np.ndarray]:
    """Return the test parts of an archive's own folds.

    Args:
        train: indices of each fold's training graphs.
        test: indices of each fold's test graphs.
        graphs: how many graphs there are.
        where: what to call the archive in messages.

    Raises:
        MissingDataError: a graph is tested twice or never, or a fold does not train on all the others.
    """
    mend = "Use the standard folds of the data set"
    for number, (learn, hold) in enumerate(zip(train, test, strict=True), 1):
        both = np.concatenate([learn, hold])
        if len(both) != graphs or not np.array_equal(np.sort(both), np.arange(graphs)):
            message = f"{where}: fold {number} does not name each of the {graphs:,} graphs once"
            raise MissingDataError(message, mend)
    times = np.bincount(np.concatenate(test), minlength=graphs)
    if (times != 1).any():
        graph = int((times != 1).argmax())
        message = f"{where}: graph {graph} is tested {times[graph]} times over the folds, not once"
        raise MissingDataError(message, mend)
    return test
