"""``--config FILE``: the options of a command as TOML or YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchsuite.errors import UsageError, near

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["config_option", "read_config"]


def config_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give ``command`` the option ``--config``: what the file says is the default of the other options."""
    return click.option(
        "--config",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_apply,
        help="Options from a TOML or YAML file, under the names they have here; the command line wins.",
    )(command)


def _apply(ctx: click.Context, option: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    options = {_name(each): each for each in ctx.command.params if isinstance(each, click.Option)}
    options = {name: each for name, each in options.items() if each is not option and name != "help"}
    given = read_config(path)
    ctx.default_map = {
        str(options[name].name): _value(options[name], value, name, path)
        for name, value in _normalized(given, options, path).items()
    }


def read_config(path: Path) -> dict[str, Any]:
    """Read a file of options.

    Raises:
        UsageError: it cannot be read, has another ending than ``.toml``, ``.yaml`` or ``.yml``, or holds no table.
    """
    readers = {".toml": _read_toml, ".yaml": _read_yaml, ".yml": _read_yaml}
    if path.suffix not in readers:
        raise UsageError(f"config file {path} is neither TOML nor YAML by its name", "Let it end in .toml or .yaml")
    try:
        content = readers[path.suffix](path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"config file {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"config file {path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise UsageError(f"config file {path} holds no options", "Write lines like: plugin = ['topgq']")
    return {str(name): value for name, value in content.items()}


def _read_toml(text: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
    return tomllib.loads(text)


def _read_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _normalized(given: dict[str, Any], options: dict[str, click.Option], path: Path) -> dict[str, Any]:
    """Return the values under the options' own spelling; ``dry_run`` is ``dry-run``."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("_", "-")
        if name not in options:
            raise UsageError(f"config file {path} has no option {key!r} to set", near(name, options))
        if name in found:
            raise UsageError(f"config file {path} sets {name!r} twice")
        found[name] = value
    return found


def _value(option: click.Option, value: Any, name: str, path: Path) -> Any:
    """Return ``value`` as click takes it: a list for an option that repeats, a single value for the others."""
    single = (bool,) if option.is_flag else (str, int, float)
    values = value if isinstance(value, list) else [value]
    fits = all(isinstance(each, single) and (option.is_flag or not isinstance(each, bool)) for each in values)
    if not fits or (isinstance(value, list) and not option.multiple):
        wanted = "true or false" if option.is_flag else "a list or one value" if option.multiple else "one value"
        raise UsageError(f"config file {path} sets {name!r} to {value!r}", f"It takes {wanted}")
    return [str(each) for each in values] if option.multiple else value


def _name(option: click.Option) -> str:
    """Return the option's name as the command line spells it, without dashes."""
    longest = max(option.opts, key=len)
    return longest.lstrip("-")
