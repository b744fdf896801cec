"""Write the pages, and say which of those that are there are not what the records make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchsuite.boards.board import Board, make_board
from benchsuite.boards.curves import has_curves
from benchsuite.boards.files import has_block, merged, read_page, write_file
from benchsuite.boards.page import INDEX_TITLE, index_text, page_text, title_of
from benchsuite.boards.points import points, tag
from benchsuite.contracts.cards import KINDS
from benchsuite.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from benchsuite.contracts.cards import Kind
    from benchsuite.host import Catalogue
    from benchsuite.store import Store


@dataclass(frozen=True)
class _Page:
    path: Path
    title: str
    body: str

    def expected(self, existing: str | None) -> str:
        try:
            return merged(existing, self.title, self.body)
        except ValueError as error:
            raise StoreError(f"{self.path}: {error}", "Mend them, or move the file away and rebuild") from None


def write_boards(store: Store, catalogue: Catalogue, out: Path, kinds: Collection[Kind] = KINDS) -> list[Path]:
    """Write one page and one picture for each kind that has records, and the index of all.

    Text outside the markers stays. A page whose records are all gone is left alone: :func:`check_boards` names it.

    Args:
        store: all records.
        catalogue: all cards.
        out: folder of the pages; it is made where it is missing.
        kinds: the kinds to write; the index always has all of them.

    Returns:
        The files that now hold what the records make, in order; none where there are no records.

    Raises:
        StoreError: a file cannot be read or written, or its markers are broken.
    """
    boards = _boards(store, catalogue)
    written: list[Path] = []
    for page in _pages(boards, store, catalogue, out, kinds):
        write_file(page.path, page.expected(read_page(page.path)).encode())
        written.append(page.path)
    for board in boards:
        if board.kind in kinds and (picture := _draw(board, catalogue)) is not None:
            path = out / f"{board.kind}.svg"
            write_file(path, picture)
            written.append(path)
    return written


def check_boards(store: Store, catalogue: Catalogue, out: Path, kinds: Collection[Kind] = KINDS) -> list[str]:
    """Return one line for each file that is missing, stale or was edited by hand; writes nothing.

    Pages are compared byte by byte. A picture is only asked which records it was made from: its bytes depend on the
    version of matplotlib.

    Raises:
        StoreError: a file cannot be read, or its markers are broken.
    """
    boards = _boards(store, catalogue)
    found = [line for page in _pages(boards, store, catalogue, out, kinds) if (line := _page_problem(page))]
    found += [line for board in boards if board.kind in kinds and (line := _picture_problem(board, catalogue, out))]
    return found + _orphans({board.kind for board in boards}, out, kinds)


def _boards(store: Store, catalogue: Catalogue) -> list[Board]:
    boards = [make_board(store, catalogue, kind) for kind in KINDS]
    return [board for board in boards if board.tasks]


def _pages(boards: list[Board], store: Store, catalogue: Catalogue, out: Path, kinds: Collection[Kind]) -> list[_Page]:
    pages = [
        _Page(out / f"{board.kind}.md", title_of(board.kind), page_text(board, store, catalogue))
        for board in boards
        if board.kind in kinds
    ]
    return [*pages, _Page(out / "README.md", INDEX_TITLE, index_text(boards))] if boards else []


def _page_problem(page: _Page) -> str | None:
    existing = read_page(page.path)
    if existing is None:
        return f"{page.path} is missing"
    return None if page.expected(existing) == existing else f"{page.path} is stale or was edited by hand"


def _draw(board: Board, catalogue: Catalogue) -> bytes | None:
    # matplotlib: a board on the screen or a check needs none
    from benchsuite.boards.curves_picture import draw_curves
    from benchsuite.boards.picture import draw

    return draw_curves(board, catalogue) if has_curves(board, catalogue) else draw(board)


def _picture_problem(board: Board, catalogue: Catalogue, out: Path) -> str | None:
    if not has_curves(board, catalogue) and not any(points(task) for task in board.overview):
        return None
    path = out / f"{board.kind}.svg"
    picture = read_page(path)
    if picture is None:
        return f"{path} is missing"
    return None if tag(board) in picture else f"{path} was drawn from other records"


def _orphans(present: set[Kind], out: Path, kinds: Collection[Kind]) -> list[str]:
    """Return the pages with a generated part behind which there are no records any more."""
    names = [f"{kind}.md" for kind in KINDS if kind in kinds and kind not in present]
    names += [] if present else ["README.md"]
    texts = {out / name: read_page(out / name) for name in names}
    return [f"{path} has no records behind it: delete it" for path, text in texts.items() if text and _generated(text)]


def _generated(text: str) -> bool:
    try:
        return has_block(text)
    except ValueError:
        return True
