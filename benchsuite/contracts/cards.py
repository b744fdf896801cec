"""Cards: what a plugin says about its methods, tasks and data sets before any of their code is imported.

A card is frozen, validated data. It can be listed, hashed, put on a board and sent to a worker; the
``target`` it names (``"module:Name"``) is imported in the worker alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from benchsuite.errors import UsageError, near

Kind = Literal["quantizer", "norm_placement", "curriculum", "probe"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: The contract version of each kind. A card made for another version is refused when it is loaded.
CONTRACT_VERSIONS: dict[Kind, int] = {"quantizer": 1, "norm_placement": 1, "curriculum": 1, "probe": 1}

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
Target = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
Line = Annotated[str, Field(min_length=1, max_length=400, pattern=r"^[^\n]+$")]
#: A path below the data folder: plain names with ``/`` between, none of which begins with a dot; or nothing.
Below = Annotated[str, Field(pattern=r"^([^./\\:\n][^/\\:\n]*(/[^./\\:\n][^/\\:\n]*)*)?$")]


#: What must hold for a claim to survive, g being the gain over the task's reference on one seed. ``beats``: g(method) >
#: g(arm). ``bounds``: g(method) > g(arm) - g(method), so the arm may be better, but not by as much again. ``persists``:
#: g(arm) > 0.
Claim = Literal["beats", "bounds", "persists"]


class Frozen(BaseModel):
    """Base of all cards: immutable, and a field that does not exist is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Paper(Frozen):
    """Where a method was published."""

    title: Line
    url: Line
    year: int
    venue: str = ""


class Reported(Frozen):
    """One figure as its authors published it, shown on the board beside ours."""

    task: Name
    """Name of our task, or group of tasks, that comes nearest to the paper's."""
    metric: Identifier
    value: float
    """In our task's unit for that metric (accuracy: per cent)."""
    params: Mapping[str, Scalar] = {}
    """The method's parameters in that row; the others are at their defaults."""
    partners: Mapping[Kind, Name] = {}
    """On a task with several factors: the methods of the other kinds in that row."""
    source: Line
    """Table and page, e.g. ``"Table 1"``."""
    reference: float | None = None
    """The reference method's value in the same table, so that drops can be compared across protocols."""
    note: str = ""
    """How the paper's protocol differs from the task's."""


class Falsifier(Frozen):
    """A result that would refute what a method claims, named on its card before anything is run.

    Boards work it out on every task that has the records: see ``docs/boards.md``.
    """

    name: Line
    """What is changed, e.g. ``"the scale before the norm"``."""
    arm: Name
    """The method whose result decides, at its default parameters."""
    claim: Claim
    source: Line
    """Who named it: a paper, or this suite."""


class Parameter(Frozen):
    """One knob of a method: its default, its domain and what it does."""

    name: Identifier
    default: Scalar
    doc: Line
    choices: tuple[Scalar, ...] = ()
    low: float | None = None
    high: float | None = None
    grid: tuple[Scalar, ...] = ()
    """The values that a run plans when its user pins none; empty means the default alone."""

    @model_validator(mode="after")
    def _own_values_are_in_the_domain(self) -> Parameter:
        for value in (self.default, *self.grid):
            self.check(value)
        return self

    def check(self, value: Scalar) -> Scalar:
        """Return ``value`` as this parameter's type.

        Raises:
            UsageError: the value is of another type, or outside the choices or bounds.
        """
        wanted = type(self.default)
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted:
            raise UsageError(f"parameter {self.name!r} takes {wanted.__name__}, not {value!r}", self.domain())
        if self.choices and value not in self.choices:
            raise UsageError(f"parameter {self.name!r} has no value {value!r}", self.domain())
        if isinstance(value, int | float) and not isinstance(value, bool):
            too_low = self.low is not None and not value >= self.low
            too_high = self.high is not None and not value <= self.high
            if too_low or too_high:
                raise UsageError(f"parameter {self.name!r} = {value!r} is out of range", self.domain())
        return value

    def parse(self, text: str) -> Scalar:
        """Read ``text`` (from a command line) as a value of this parameter.

        Raises:
            UsageError: the text is no such value.
        """
        if isinstance(self.default, bool):
            words: dict[str, Scalar] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
            value = words.get(text.lower())
            if value is None:
                raise UsageError(f"parameter {self.name!r} takes true or false, not {text!r}")
            return value
        if isinstance(self.default, str):
            return self.check(text)
        try:
            return self.check(type(self.default)(text))
        except ValueError:
            kind = type(self.default).__name__
            raise UsageError(f"parameter {self.name!r} takes {kind}, not {text!r}", self.domain()) from None

    def domain(self) -> str:
        """Say in one line which values there are."""
        if self.choices:
            return "It takes one of " + ", ".join(map(str, self.choices))
        low = "" if self.low is None else f" from {self.low:g}"
        high = "" if self.high is None else f" to {self.high:g}"
        return f"It takes {type(self.default).__name__}{low}{high}"


class MethodCard(Frozen):
    """One entry of a leaderboard."""

    name: Name
    kind: Kind
    target: Target
    """``"module:Class"``; the class takes the parameters as keyword arguments and keeps the kind's protocol."""
    summary: Line
    version: Line = "1"
    """Raise it when results may change: recorded cells of the old version become stale."""
    contract: int = 1
    parameters: tuple[Parameter, ...] = ()
    paper: Paper | None = None
    reported: tuple[Reported, ...] = ()
    departures: tuple[Line, ...] = ()
    """Every way in which this code is not what the paper says, or decides what the paper leaves open."""
    requires: tuple[Name, ...] = ()
    """Distributions that the target imports beyond benchsuite's own dependencies."""
    sham: bool = False
    """A sham control must not win; a task that cannot tell it from a real method gives no rank."""
    falsifiers: tuple[Falsifier, ...] = ()
    protocols: tuple[Name, ...] = ()
    """Protocols that it can serve, without their versions; empty where it can serve all that take its kind. A norm
    placement may be one in a transformer or one in a GNN block, and no task takes both."""

    @model_validator(mode="after")
    def _names_are_unique_and_known(self) -> MethodCard:
        names = [p.name for p in self.parameters]
        if len(set(names)) != len(names):
            raise ValueError("two parameters have one name")
        for reported in self.reported:
            self.resolve(reported.params)
        return self

    def parameter(self, name: str) -> Parameter:
        """Return the parameter called ``name``.

        Raises:
            UsageError: there is none.
        """
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        known = [p.name for p in self.parameters]
        raise UsageError(f"method {self.name!r} has no parameter {name!r}", near(name, known))

    def resolve(self, given: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """Return every parameter's value: the given ones checked, the others at their defaults.

        Raises:
            UsageError: an unknown name or a value outside its domain.
        """
        checked = {name: self.parameter(name).check(value) for name, value in given.items()}
        return {p.name: checked.get(p.name, p.default) for p in self.parameters}


class Metric(Frozen):
    """A number a task's host computes from held-out labels and a worker's predictions."""

    name: Identifier
    unit: str
    higher_is_better: bool = True
    digits: int = 2


class TaskCard(Frozen):
    """Data, model, protocol and metrics; and which kinds of method it takes."""

    name: Name
    target: Target
    """``"module:Class"`` of the :class:`benchsuite.contracts.task.Task` that runs it."""
    summary: Line
    factors: tuple[Kind, ...] = Field(min_length=1)
    dataset: Name
    protocol: Annotated[str, Field(pattern=r"^[a-z-]+/\d+$")]
    """Name and version of the protocol, described in ``docs/protocols/``."""
    metrics: tuple[Metric, ...] = Field(min_length=1)
    """The first is the one the board ranks by."""
    version: Line = "1"
    config: Mapping[str, JsonValue] = {}
    """Whatever the target needs (backbone, recipe, setting). Part of the cell key: a change makes cells stale."""
    reference: Mapping[Kind, Name] = {}
    """For each factor, the method that differences and costs are taken against."""
    line_up: tuple[Name, ...] = ()
    """Methods that a run takes where its user names none: a few that show what the task is about, and run quickly."""
    suites: tuple[Name, ...] = ()
    group: Name | Literal[""] = ""
    """Tasks that ask one question of several subjects share a group; boards show its mean, and then each task."""
    seeds: int = Field(default=10, ge=1)
    """How many seeds a run takes when its user names no number."""

    def takes(self, method: MethodCard) -> bool:
        """Return whether ``method`` can be run on this task: its kind is a factor, and it can serve the protocol."""
        served = not method.protocols or self.protocol.partition("/")[0] in method.protocols
        return served and method.kind in self.factors


_FILE = r"\w[\w.+-]*"


class Download(Frozen):
    """One file of a data set that is to be had at an address."""

    url: Annotated[str, Field(pattern=r"^https?://\S+$")]
    name: str = ""
    """What the file is called; empty where that is the end of the address."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """Of the original file (hex), where it is known."""
    size: int | None = Field(default=None, ge=0)
    """In bytes, where it is known exactly: a server that offers another size is asked for nothing."""

    @property
    def file(self) -> str:
        """What the file is called."""
        return self.name or self.url.partition("?")[0].rpartition("/")[2]

    @model_validator(mode="after")
    def _file_has_a_plain_name(self) -> Download:
        if not re.fullmatch(_FILE, self.file):
            raise ValueError(f"{self.file!r} is no name for a file: give one as 'name'")
        return self


class DatasetCard(Frozen):
    """A data set: where it comes from, and the function that reads it.

    ``benchsuite data fetch`` and ``data import`` need ``folder`` and ``files``, and the first ``downloads`` too; a
    ``fetch`` of its own is for data sets that these cannot describe.
    """

    name: Name
    target: Target
    """``"module:function"``, called as ``function(root)`` with the data folder (or None): reads, never downloads."""
    summary: Line
    licence: Line
    source: Line
    bundled: bool = False
    """True where it needs no file of the user's: generated, or shipped inside a dependency."""
    fetch: Target | None = None
    """``"module:function"``, called as ``function(root)``: downloads the files into the folder."""
    notes: Target | None = None
    """``"module:function"``, called as ``function(name, root)``: returns ``(heading, text)`` lines for ``data check``,
    on where the files lie, whether they are the originals, and what was left out."""
    files: tuple[str, ...] = ()
    """Relative paths of the files that mark its presence in the flat layout; each may be a pattern (``*.txt*``)."""
    layouts: tuple[tuple[str, ...], ...] = ()
    """Other sets of files that mark its presence, each as ``files``: those of another library, or a flat one."""
    folder: Below = ""
    """Its own folder below the data folder (``ogbn_arxiv``), which a download or an import fills: whole, or not at all.
    One of ``files`` and ``layouts`` should lie in there."""
    downloads: tuple[Download, ...] = ()
    """What ``benchsuite data fetch`` downloads into ``folder``: one archive (``.zip``, ``.tar.gz``), which is unpacked
    so that ``files`` come to lie where they say, whatever folders it has above them; or the files themselves."""
