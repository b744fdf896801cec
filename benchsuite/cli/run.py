"""``benchsuite run``."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Any

import click

from benchsuite.cli import common
from benchsuite.cli.config import config_option
from benchsuite.errors import UsageError, near

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from benchsuite.contracts.task import Places
    from benchsuite.engine.plan import Planned
    from benchsuite.engine.prepare import Ready
    from benchsuite.engine.run import Summary
    from benchsuite.engine.selection import Request, Selected
    from benchsuite.host import Catalogue, HostOptions
    from benchsuite.store import Store

EXIT_SOME_FAILED = 1
EXIT_INTERRUPTED = 130


#: How an attempt may have ended without a result.
_ENDS = ("failed", "timeout", "oom", "crashed", "interrupted")


def _statuses(_ctx: click.Context, _option: click.Parameter, text: str | None) -> frozenset[str] | None:
    if text is None:
        return None
    named = [word.strip() for word in text.split(",")]
    if named == ["none"]:
        return frozenset()
    for word in named:
        if word not in _ENDS:
            raise UsageError(f"--retry takes no {word!r}", near(word, (*_ENDS, "none")))
    return frozenset(named)


@click.command(short_help="Run methods on tasks, record what happens, show the board.")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="NAME[PARAM=VALUE,...]",
    help="A method, or a plugin for all of its methods; repeats. Values joined by | are all run: 'topgq[bits=8|4]'.",
)
@click.option("--task", "tasks", multiple=True, metavar="GLOB", help="Tasks by name or glob; repeats.")
@click.option(
    "--suite", metavar="NAME", help="A named list of tasks; 'quick' where neither tasks nor a suite are named."
)
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Seeds 0 to N-1; else each task's own number.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Cells that run at a time. With more than one, times are marked as taken in company.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="What a cell may take before it is stopped and recorded as such.",
)
@click.option("--dry-run", is_flag=True, help="Show what is done, to do and stale, and run nothing.")
@click.option("--force", is_flag=True, help="Run again what is done.")
@click.option(
    "--retry",
    metavar="STATUS,...",
    callback=_statuses,
    help="Of what failed before, try again only what ended so: failed, timeout, oom, crashed; or none.  [default: all]",
)
@click.option(
    "--executor",
    default="local",
    show_default=True,
    metavar="NAME[OPTION=VALUE,...]",
    help="local, inline (debugging), ray, slurm, or another plugin's.",
)
@common.out_option
@config_option
@common.host_options
def run(
    plugins: tuple[str, ...],
    tasks: tuple[str, ...],
    suite: str | None,
    seeds: int | None,
    jobs: int,
    timeout: float,
    dry_run: bool,
    force: bool,
    retry: frozenset[str] | None,
    executor: str,
    out: Path,
    host: HostOptions,
) -> int:
    """Run methods on tasks, record what happens, show the board.

    Each method meets each task's reference method and as many seeds as the protocol asks for. What has a record is not
    run again, so the same command goes on where an earlier one was stopped.

    Exit code: 0 when all that was asked for has a result, 1 when something failed or was left out, 2 for a wrong use,
    130 after Ctrl-C.
    """
    from benchsuite.engine.executors import make_executor
    from benchsuite.engine.run import Job
    from benchsuite.engine.run import run as run_job
    from benchsuite.engine.selection import Request, select
    from benchsuite.store import read_store

    catalogue = common.catalogue_from(host)
    request = Request(plugins, tasks, suite, seeds)
    selected = select(catalogue, request)
    engine = make_executor(executor, catalogue, jobs=jobs, timeout=timeout)
    _announce(selected, line_up=not plugins)
    store = read_store(out)
    places = _places(catalogue)
    if dry_run:
        _print_estimates(selected)
    with _stops_as_ctrl_c(), _reporter(selected, store, jobs) as reporter:
        from benchsuite.engine.prepare import prepare

        ready, skipped = prepare(selected, places, reporter)
        plan = _plan(ready, store, catalogue, force, retry)
        if not dry_run:
            job = Job(ready, plan, engine, catalogue, out, places.cache, skipped, _command(request, jobs, executor))
            summary = run_job(job, reporter)
    if dry_run:
        _print_plan(plan)
        return 0
    return _conclude(summary, catalogue, out, [each.selected.card.name for each in ready])


def _command(request: Request, jobs: int, executor: str) -> list[str]:
    """Return the words that ask for the same again, wherever the options came from."""
    words = ["run"]
    words += [word for plugin in request.plugins for word in ("--plugin", plugin)]
    words += [word for task in request.tasks for word in ("--task", task)]
    words += [] if request.suite is None else ["--suite", request.suite]
    words += [] if request.seeds is None else ["--seeds", str(request.seeds)]
    words += [] if jobs == 1 else ["--jobs", str(jobs)]
    return words + ([] if executor == "local" else ["--executor", executor])


def _announce(selected: Sequence[Selected], line_up: bool) -> None:
    """Say at once what is going to happen: reading the first data set may take a while."""
    names = ", ".join(each.card.name for each in selected)
    noun = "task" if len(selected) == 1 else "tasks"
    click.echo(f"benchsuite: {len(selected)} {noun}: {common.printable(names)}", err=True)
    if line_up:
        click.echo("benchsuite: no method is named; each task takes those that it proposes", err=True)
    for each in selected:
        for kind, method in each.assumed.items():
            line = f"{each.card.name}: no {kind.replace('_', ' ')} is named; it takes its own, {method}"
            click.echo(f"benchsuite: {common.printable(line)}", err=True)


def _places(catalogue: Catalogue) -> Places:
    from benchsuite.contracts.task import Places

    return Places(common.data_root(), common.cache_root(), dict(catalogue.datasets))


def _reporter(selected: Iterable[Selected], store: Store, jobs: int) -> Any:
    from benchsuite.cli.progress import make_reporter
    from benchsuite.engine.estimate import Durations

    digits = {each.card.name: (each.card.metrics[0].name, each.card.metrics[0].digits) for each in selected}
    return make_reporter(common.console(stderr=True), Durations(store.cells), jobs, digits)


def _plan(
    ready: Sequence[Ready], store: Store, catalogue: Catalogue, force: bool, retry: frozenset[str] | None
) -> list[Planned]:
    from benchsuite.engine.plan import make_plan

    cells = [cell for each in ready for cell in each.cells]
    return make_plan(cells, store.latest(), _sources(cells, catalogue), force, retry)


def _sources(cells: Iterable[Any], catalogue: Catalogue) -> Mapping[str, str]:
    """Return by method the hash of its plugin's code, each plugin read once."""
    plugins = {ref.name: catalogue.plugin_of(ref.name) for cell in cells for ref in cell.methods.values()}
    hashes = {plugin.name: plugin.source_hash() for plugin in plugins.values()}
    return {method: hashes[plugin.name] for method, plugin in plugins.items()}


def _print_estimates(selected: Iterable[Selected]) -> None:
    """Print what tasks say of themselves that they take; before any data is read, since it may not be there."""
    from benchsuite.engine.prepare import load_task

    for each in selected:
        estimate = getattr(load_task(each.card), "estimate", None)
        if estimate is not None:
            arms, seeds = len(each.combinations), len(each.seeds)
            many = f"{arms} arms, {seeds} seed{'s' * (seeds > 1)}"
            rows = [*estimate().items(), ("cells", f"{arms * seeds} ({many})")]
            common.print_table((each.card.name, "of a cell"), rows)


def _print_plan(plan: Sequence[Planned]) -> None:
    rows: dict[tuple[str, str], list[Planned]] = {}
    for each in plan:
        rows.setdefault((each.cell.task, each.cell.label), []).append(each)
    columns = ("Task", "Method", "Cells", "Done", "To do", "Stale", "Left", "Why")
    common.print_table(columns, [(*name, *_tally(cells)) for name, cells in rows.items()])


def _tally(cells: Sequence[Planned]) -> tuple[str, ...]:
    counts = [sum(each.state == state for each in cells) for state in ("done", "todo", "stale", "left")]
    reasons = dict.fromkeys(each.reason for each in cells if each.reason)
    return (str(len(cells)), *map(str, counts), "; ".join(reasons))


def _conclude(summary: Summary, catalogue: Catalogue, out: Path, tasks: Sequence[str]) -> int:
    """Show and write the boards, say in a line how it went, and return the exit code."""
    if summary.status == "interrupted":
        done = sum(summary.counts.values()) + summary.done_before
        click.echo(
            f"benchsuite: interrupted after {done} of {summary.planned} cells; the same command goes on", err=True
        )
        return EXIT_INTERRUPTED
    from benchsuite.boards import render_screen, write_boards
    from benchsuite.store import read_store

    store = read_store(out)
    render_screen(store, catalogue, common.console(), tasks)
    for problem in store.problems:
        click.echo(f"benchsuite: warning: {common.printable(problem)}", err=True)
    pages = write_boards(store, catalogue, out)
    click.echo(_last_line(summary, pages), err=True)
    return 0 if summary.complete else EXIT_SOME_FAILED


def _last_line(summary: Summary, pages: Sequence[Path]) -> str:
    parts = [f"{count} {status}" for status, count in summary.counts.items()]
    parts += [f"{summary.done_before} done before"] if summary.done_before else []
    left = summary.planned - summary.done_before - sum(summary.counts.values())
    parts += [f"{left} left as they failed"] if left else []
    parts += [f"left out: {', '.join(summary.skipped)}"] if summary.skipped else []
    where = f"; boards: {', '.join(str(page) for page in pages if page.suffix == '.md')}" if pages else ""
    return common.printable(f"benchsuite: {', '.join(parts)}{where}")


@contextlib.contextmanager
def _stops_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a run the way Ctrl-C does: nothing lost, workers stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGTERM, signal.SIGHUP)
    before = {each: signal.signal(each, signal.default_int_handler) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
