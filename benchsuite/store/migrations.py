"""Lines of older schemas, made into lines of the present one as they are read.

A run file is never rewritten: its lines keep their text and hash, and :func:`migrated` turns what an older version
wrote into what the models of :mod:`benchsuite.store.records` take. To change those models so that old lines no longer
fit, or mean something else, raise :data:`SCHEMA` and ``Line.version``, add the step from the version before to
:data:`STEPS`, and put a run file of the version before below ``tests/store/files/``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: One line as plain JSON values.
RawLine = dict[str, Any]

#: The version that is written.
SCHEMA = 1

#: By version: the step from it to the next one. A step gets a line's values, all types of lines alike, and returns new
#: ones; ``schema`` is set for it.
STEPS: dict[int, Callable[[RawLine], RawLine]] = {}


def migrated(line: RawLine) -> RawLine:
    """Return ``line`` as the present schema has it; ``line`` itself is left as it is.

    Raises:
        ValueError: its version is newer than this suite, or older than any step, or no version.
    """
    version = line.get("schema", SCHEMA)
    if not isinstance(version, int) or isinstance(version, bool):
        raise ValueError("schema: it is no whole number")
    if version > SCHEMA:
        raise ValueError(f"schema {version} is newer than {SCHEMA}, the newest that this benchsuite reads: update it")
    while version < SCHEMA:
        step = STEPS.get(version)
        if step is None:
            raise ValueError(f"schema {version} is unknown")
        version += 1
        line = {**step(dict(line)), "schema": version}
    return line
