"""Files of graphs that PyTorch Geometric's ``InMemoryDataset`` wrote (``processed/*.pt``), read without trust.

Such a file is a zip that ``torch.save`` made, around a pickle. PyTorch's restricted unpickler reads it: it builds
tensors, containers and the few classes named here, and refuses all else before anything is run.
"""

from __future__ import annotations

import pickle
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from benchsuite.data.unions import ordered
from benchsuite.errors import MissingDataError

if TYPE_CHECKING:
    from pathlib import Path

    from benchsuite.contracts.graph import Graph

#: Bytes that one file may have; CIFAR10's training graphs are under a thousand million.
LIMIT = 2**33
_AGAIN = "Let PyTorch Geometric write the file again"


@dataclass(frozen=True)
class Stored:
    """The graphs of one file, one after the other, nodes counted from 0 within each."""

    path: Path
    tensors: dict[str, Tensor]
    sizes: Tensor
    """``[graphs]`` int64, nodes of each."""
    counts: Tensor
    """``[graphs]`` int64, edges of each."""

    def wrong(self, what: str) -> MissingDataError:
        """Return the error for content that is not what it should be."""
        return MissingDataError(f"{self.path} {what}: damaged, or another data set", _AGAIN)

    def take(self, name: str, dtype: torch.dtype, rows: Tensor, columns: int) -> Tensor:
        """Return ``[rows, columns]`` of one tensor; a flat one counts as one column.

        Raises:
            MissingDataError: it is missing, or of another shape or kind.
        """
        tensor, wanted = self.tensors.get(name), int(rows.sum())
        if tensor is None:
            raise self.wrong(f"has no {name}")
        table = tensor[:, None] if tensor.dim() == 1 else tensor
        if tuple(table.shape) != (wanted, columns) or table.is_floating_point() != dtype.is_floating_point:
            said = f"{list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
            raise self.wrong(f"has {name} of {said} in place of [{wanted}, {columns}]")
        if table.is_floating_point() and not torch.isfinite(table).all():
            raise self.wrong(f"has {name} that is not finite")
        return table.to(dtype)


def read_stored(path: Path) -> Stored:
    """Return the graphs in a file.

    Raises:
        MissingDataError: it cannot be read, is damaged, compressed, or holds what no such file holds.
    """
    _check_zip(path)
    content = _load(path)
    data, slices = _parts(path, content)
    found = {name: value for name, value in data.items() if isinstance(value, Tensor)}
    for name, tensor in found.items():
        if not tensor.is_contiguous() or tensor.layout != torch.strided:
            raise MissingDataError(f"{path} has {name} in no plain form", _AGAIN)
    edges = found.get("edge_index")
    if edges is None or edges.dim() != 2 or edges.shape[0] != 2 or edges.dtype != torch.int64 or "x" not in found:
        raise MissingDataError(f"{path} has no x, or no edge_index of [2, edges] int64", _AGAIN)
    sizes = _lengths(path, "x", slices, found["x"].shape[0])
    counts = _lengths(path, "edge_index", slices, edges.shape[1])
    if len(sizes) != len(counts) or not len(sizes) or int(sizes.min()) < 1:
        raise MissingDataError(f"{path} has graphs without nodes, or another number of edge lists than graphs", _AGAIN)
    stored = Stored(path, found, sizes, counts)
    room = sizes.repeat_interleave(counts)
    if ((edges < 0) | (edges >= room)).any():
        raise stored.wrong("has an edge to a node that its graph has not")
    return stored


def join(files: list[Stored], x: list[Tensor], edge_attr: list[Tensor]) -> tuple[Graph, bool]:
    """Return all graphs of several files as one union, and whether every edge has its reverse.

    Args:
        files: in the order that their graphs shall have.
        x: node features of each file.
        edge_attr: edge features of each file.
    """
    sizes = torch.cat([file.sizes for file in files])
    counts = torch.cat([file.counts for file in files])
    local = torch.cat([file.tensors["edge_index"] for file in files], 1)
    graph = ordered(torch.cat(x), sizes, counts, local, torch.cat(edge_attr))
    source, target = graph.edge_index
    nodes = graph.num_nodes
    back = torch.sort(source * nodes + target).values
    return graph, torch.equal(back, target * nodes + source)


def _check_zip(path: Path) -> None:
    """Refuse what ``torch.save`` does not write: it never compresses, so that a file holds no more than its size."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
        size = path.stat().st_size
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        reason = " ".join(str(error).split())
        raise MissingDataError(f"{path} is no whole file of torch.save: {reason}", _AGAIN) from error
    if size > LIMIT or any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise MissingDataError(f"{path} is compressed or larger than {LIMIT:,} bytes", "Do not trust this file")
    if sum(entry.file_size for entry in entries) > size:
        raise MissingDataError(f"{path} claims more bytes than it has", "Do not trust this file")


def _load(path: Path) -> Any:
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    # The newest form is a tuple with the class of the data; older files hold the object itself. What PyTorch Geometric
    # has registered is left out: leaving the block would take it from the register.
    known = torch.serialization.get_safe_globals()
    named = [each for each in (Data, DataEdgeAttr, DataTensorAttr, GlobalStorage) if each not in known]
    with torch.serialization.safe_globals(named):
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:
            said = str(error)
            place = said.find("GLOBAL ")
            what = f" ({said[place:].split(' was ')[0].split(chr(10))[0][:100]})" if place >= 0 else ""
            message = f"{path} is refused: it would run more than such files do{what}"
            raise MissingDataError(message, "Do not trust this file") from error
        except Exception as error:
            reason = " ".join(str(error).split())[:120] or type(error).__name__
            raise MissingDataError(f"{path} is damaged: {reason}", _AGAIN) from error


def _parts(path: Path, content: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    from torch_geometric.data import Data

    if isinstance(content, tuple) and len(content) in (2, 3):
        data, slices = content[:2]
        if isinstance(data, Data):
            with suppress(AttributeError, TypeError):  # what an object raises that lacks its parts
                data = data.to_dict()
        if isinstance(data, dict) and isinstance(slices, dict):
            return data, slices
    raise MissingDataError(f"{path} holds no graphs of an InMemoryDataset", _AGAIN)


def _lengths(path: Path, name: str, slices: dict[str, Any], total: int) -> Tensor:
    bounds = slices.get(name)
    if isinstance(bounds, Tensor) and bounds.dim() == 1 and bounds.dtype == torch.int64 and len(bounds) >= 2:
        lengths = bounds.diff()
        if int(bounds[0]) == 0 and int(bounds[-1]) == total and not (lengths < 0).any():
            return lengths
    raise MissingDataError(f"{path} has slices of {name} that do not fit it", _AGAIN)
