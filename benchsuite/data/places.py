"""The files of a data set in the first of several places that has them all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Sequence


def find(name: str, root: Path | None, layouts: Sequence[Sequence[str]], mend: str) -> list[Path]:
    """Return the files of the first layout that is there as a whole.

    Args:
        name: of the data set.
        root: the data folder, or None.
        layouts: the files of each, relative to ``root``.
        mend: how to get them; ``{}`` stands for the data folder.

    Raises:
        MissingDataError: no folder is named, or none has all files; where one has some, the line names those it lacks.
    """
    what = f"data set {name!r}"
    if root is None or not root.is_dir():
        lack = "is not set" if root is None else f"names no folder: {root}"
        hint = f"Set it to a folder. {mend.format('its ')}"
        raise MissingDataError(f"{what} needs files, and BENCHSUITE_DATA {lack}", hint)
    partly = None
    try:
        for files in layouts:
            lacking = [file for file in files if not (root / file).is_file()]
            if not lacking:
                return [root / file for file in files]
            if len(lacking) < len(files) and partly is None:
                partly = f"{(root / lacking[0]).parent} lacks {', '.join(Path(file).name for file in lacking)}"
    except OSError as error:
        raise MissingDataError(
            f"{what}: {root} cannot be searched ({error.strerror})", mend.format(f"{root}/")
        ) from error
    said = partly or f"{root} has no {layouts[0][0]}, nor that in another known place"
    raise MissingDataError(f"{what}: {said}", mend.format(f"{root}/"))
