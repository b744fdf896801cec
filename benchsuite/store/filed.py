"""Records that are still in their file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchsuite.errors import StoreError
from benchsuite.store.records import CellRecord, parse_line

if TYPE_CHECKING:
    from pathlib import Path


#: Where a record's line is: the file, bytes before the line, bytes of it, and the hash it must have.
Place = tuple["Path", int, int, str]


def _read(path: Path, offset: int, size: int, mark: str) -> CellRecord:
    line = None
    try:
        with path.open("rb") as file:
            file.seek(offset)
            line = parse_line(file.read(size))
    except OSError as error:
        raise StoreError(f"the results file {path} cannot be read: {error.strerror}") from error
    except StoreError:
        pass
    if not isinstance(line, CellRecord) or line.hash != mark:
        raise StoreError(f"the results file {path} changed while it was in use", "Give the command again")
    return line


class FiledRecord(CellRecord):
    """A record of which the index gave some fields; it reads its line when any other is asked for.

    From then on it is a plain :class:`CellRecord`, of that very class. Whatever takes a record as a whole (comparing,
    copying, dumping) reads the line first, so there is no way to see half a record.
    """

    def whole(self) -> CellRecord:
        """Read the line, become a plain record, and return it.

        Raises:
            StoreError: the line is not in its file any more.
        """
        record = _read(*self.__dict__["_place"])
        for name in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
            object.__setattr__(self, name, getattr(record, name))
        object.__setattr__(self, "__class__", CellRecord)
        return self

    @property
    def execution(self) -> Any:
        """See :attr:`CellRecord.execution`; the index has this one of the notes, since every row of a board asks."""
        return self.__dict__["_execution"]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole(), name)


_new, _set = object.__new__, object.__setattr__


def filed(values: dict[str, Any]) -> CellRecord:
    """Return a record that has ``values`` already; the dictionary becomes its own.

    Args:
        values: fields by name; ``_execution``, the note; and ``_place``, a :data:`Place`.
    """
    record = _new(FiledRecord)
    # Its other slots are empty: whoever looks there gets to __getattr__, too.
    _set(record, "__dict__", values)
    return record


def _equal(self: FiledRecord, other: object) -> bool:
    return self.whole() == (other.whole() if isinstance(other, FiledRecord) else other)


def _whole_first(name: str) -> Any:
    def method(self: FiledRecord, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.whole(), name)(*args, **kwargs)

    method.__name__ = name
    return method


for _name in (
    *("__copy__", "__deepcopy__", "__iter__", "__reduce_ex__", "__repr__", "__rich_repr__", "__str__"),
    *("model_copy", "model_dump", "model_dump_json", "copy", "dict", "json", "body", "seal", "sealed", "text"),
):
    setattr(FiledRecord, _name, _whole_first(_name))
FiledRecord.__eq__ = _equal  # type: ignore[method-assign, assignment]
