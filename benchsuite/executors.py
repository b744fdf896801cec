"""What authors of executors import.

An executor runs cells somewhere: it is handed payloads and yields outcomes (:class:`Executor`). One that runs them on
other machines makes letters of them (:class:`Post`), calls :func:`carry_out` there, and reads the answer here
(:func:`read_answer`); ``docs/executors.md`` shows how. A plugin offers it through the hook ``benchsuite_executor``;
import this module inside the hook, not at the top of the plugin's module, which must stay light.
"""

from __future__ import annotations

from benchsuite.engine.elsewhere import ANSWER, LETTER, VIEWS, Post, carry_out, carry_out_filed
from benchsuite.engine.executors import Executor, ExecutorOptions, stopped
from benchsuite.engine.failures import describe, printed
from benchsuite.engine.payload import Outcome, Payload
from benchsuite.engine.wire import read_answer
from benchsuite.errors import UsageError
from benchsuite.store.records import Status

__all__ = [
    "ANSWER",
    "LETTER",
    "VIEWS",
    "Executor",
    "ExecutorOptions",
    "Outcome",
    "Payload",
    "Post",
    "Status",
    "UsageError",
    "carry_out",
    "carry_out_filed",
    "describe",
    "printed",
    "read_answer",
    "stopped",
]
