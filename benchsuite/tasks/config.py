"""Reading what a task card's ``config`` holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from benchsuite.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping

Config = TypeVar("Config", bound=BaseModel)


def read_config(task: str, config: Mapping[str, object], model: type[Config]) -> Config:
    """Return ``config`` as a ``model``.

    Args:
        task: name of the task, for the message.
        config: of its card.
        model: says which fields there are, and what they may hold.

    Raises:
        ProtocolError: a field is missing, unknown or out of range.
    """
    try:
        return model.model_validate(config)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "config"
        mend = f"The config of this task has the fields of {model.__module__}.{model.__name__}"
        raise ProtocolError(f"task {task!r}: {where}: {first['msg'].lower()}", mend) from None
