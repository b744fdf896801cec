"""Pages on disk: the generated part between two markers, and whatever people write around it."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from benchsuite.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = "<!-- BEGIN benchsuite board: made from the records; write above or below, not in here -->"
END = "<!-- END benchsuite board -->"


def merged(existing: str | None, title: str, body: str) -> str:
    """Return a page with ``body`` between the markers.

    Args:
        existing: the page as it stands, or None where there is none. Without markers, they are put at its end.
        title: heading of a new page.
        body: the generated part.

    Raises:
        ValueError: the markers of ``existing`` are no pair.
    """
    block = f"{BEGIN}\n\n{body.strip()}\n\n{END}"
    if existing is None:
        return f"# {title}\n\n{block}\n"
    existing = existing.replace("\r\n", "\n")
    if not has_block(existing):
        return f"{existing.rstrip()}\n\n{block}\n".lstrip()
    before, _, rest = existing.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + block + after


def has_block(text: str) -> bool:
    """Return whether ``text`` holds a generated part.

    Raises:
        ValueError: a marker stands alone, twice, or in the wrong order.
    """
    counts = text.count(BEGIN), text.count(END)
    if counts == (0, 0):
        return False
    if counts != (1, 1) or text.index(BEGIN) > text.index(END):
        raise ValueError("its BEGIN and END markers are no pair")
    return True


def read_page(path: Path) -> str | None:
    """Return the text of a page, its line ends as they are; None where there is no such file.

    Raises:
        StoreError: it cannot be read, or is no UTF-8.
    """
    try:
        return path.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise StoreError(f"{path} is no UTF-8 text", "Move it away and rebuild") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def write_file(path: Path, content: bytes) -> None:
    """Write a whole file or nothing; one that has this content already is left as it is.

    Raises:
        StoreError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        mend = "Free some space, make the folder writable, or name another with --out"
        raise StoreError(f"the board {path} cannot be written: {error.strerror}", mend) from error
