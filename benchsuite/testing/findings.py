"""How a check says what it found, and how an error inside foreign code becomes such a finding."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchsuite.errors import BenchsuiteError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class NotApplicable(ProtocolError):
    """The method itself refused a backbone, by raising :class:`~benchsuite.errors.ProtocolError` in ``quantize``."""


def finding(found: str, wanted: str, mend: str) -> ProtocolError:
    """Return the error a failing check raises.

    Args:
        found: what the check saw.
        wanted: what the contract asks for.
        mend: what the author can do about it.
    """
    return ProtocolError(f"{found}; wanted: {wanted}", mend)


def attempt(what: str, call: Callable[[], T], home: Path | None = None) -> T:
    """Return ``call()``; whatever it raises becomes a finding that names the error and the line it came from.

    Args:
        what: names the call, e.g. ``"quantize"``.
        call: runs code of a plugin.
        home: folder of the plugin's code; the line named is the innermost one below it.

    Raises:
        ProtocolError: the call raised anything.
    """
    try:
        return call()
    except BenchsuiteError as error:
        raise ProtocolError(f"{what} raised {type(error).__name__}: {error.message}", error.mend) from error
    except Exception as error:  # foreign code may raise anything, and none of it may end the checks
        where = _place(error, home)
        message = " ".join(str(error).split()) or "(no message)"
        raise finding(f"{what} raised {type(error).__name__}: {message}", "a result", f"See {where}") from error


def _place(error: Exception, home: Path | None) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if home is not None and Path(frame.filename).is_relative_to(home)]
    frame = (own or list(frames))[-1]
    return f"{Path(frame.filename).name}, line {frame.lineno}"
