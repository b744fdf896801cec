"""The text form that GIN's authors used (Xu et al., ICLR 2019): one file for a collection.

Its first line is the number of graphs. Each graph begins with ``nodes label``; then comes a line for each node,
``tag m neighbour_1 ... neighbour_m``, with neighbours counted from 0 within the graph.
"""

from __future__ import annotations

import numpy as np

from benchsuite.data.tu.numbers import Parsed, damaged, line_lengths, whole_numbers


def parse(text: bytes, where: str) -> Parsed:
    """Return the collection.

    Where all nodes have one and the same tag, they have none: that is how the form says that there are no tags.

    Args:
        text: the file's content.
        where: what to call it in messages.

    Raises:
        MissingDataError: it is not of this form, or claims what it does not hold.
    """
    words, lengths = whole_numbers(text, where), line_lengths(text)
    if not len(lengths) or lengths[0] != 1:
        raise damaged(where, "does not begin with the number of graphs")
    first = np.cumsum(lengths) - lengths
    heads, sizes, labels = _graphs(words, lengths, first, where)
    is_node = np.ones(len(lengths), bool)
    is_node[0] = is_node[heads] = False
    lines = np.flatnonzero(is_node)
    tags, degrees = words[first[lines]], _degrees(words, lengths, first, lines, where)
    is_neighbour = np.ones(len(words), bool)
    is_neighbour[first] = is_neighbour[first[1:] + 1] = False
    graph = np.repeat(np.arange(len(sizes)), sizes)
    offset = (np.cumsum(sizes) - sizes)[graph]
    local, target = words[is_neighbour], np.repeat(np.arange(len(lines)), degrees)
    outside = (local < 0) | (local >= np.repeat(sizes[graph], degrees))
    if outside.any():
        edge = int(np.flatnonzero(outside)[0])
        line, size = lines[target[edge]] + 1, sizes[graph[target[edge]]]
        raise damaged(where, f"names node {local[edge]} in line {line:,}, and that graph has nodes 0 to {size - 1}")
    known = tags[:, None] if (tags != tags[0]).any() else None
    return Parsed(sizes, local + np.repeat(offset, degrees), target, labels, known)


def _graphs(
    words: np.ndarray, lengths: np.ndarray, first: np.ndarray, where: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each graph the line that it begins in, its nodes and its label: the only walk from one to the next."""
    claimed, line = int(words[0]), 1
    heads, sizes, labels = [], [], []
    while line < len(lengths):
        if lengths[line] != 2:
            raise damaged(where, f"has {lengths[line]:,} numbers in line {line + 1:,}, where a graph should begin")
        size, label = (int(word) for word in words[first[line] : first[line] + 2])
        if not 0 < size < len(lengths) - line:
            left = len(lengths) - line - 1
            raise damaged(where, f"claims {size:,} nodes in line {line + 1:,}, and {left:,} lines are left")
        heads.append(line)
        sizes.append(size)
        labels.append(label)
        line += size + 1
    if len(heads) != claimed or not heads:
        raise damaged(where, f"claims {claimed:,} graphs and holds {len(heads):,}")
    return np.array(heads), np.array(sizes), np.array(labels)


def _degrees(words: np.ndarray, lengths: np.ndarray, first: np.ndarray, lines: np.ndarray, where: str) -> np.ndarray:
    """Return of each node's line how many neighbours it has, which must be what it says."""
    short = lines[lengths[lines] < 2]
    if len(short):
        raise damaged(where, f"has one number in line {short[0] + 1:,}, where a node should be")
    claimed: np.ndarray = words[first[lines] + 1]
    wrong = np.flatnonzero(claimed != lengths[lines] - 2)
    if len(wrong):
        line, held = lines[wrong[0]], lengths[lines[wrong[0]]] - 2
        raise damaged(where, f"claims {claimed[wrong[0]]:,} neighbours in line {line + 1:,} and holds {held:,}")
    return claimed
