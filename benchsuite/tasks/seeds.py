"""Seeds by name: every source of randomness has a stream of its own, and methods share what they must share."""

from __future__ import annotations

import hashlib
import json


def derive(seed: int, *axes: str) -> int:
    """Return the seed of one source of randomness.

    Two methods of one cell seed get the same initial weights and the same dropout masks, because those axes do not
    name the method (common random numbers): their difference can be paired.

    Args:
        seed: the cell's seed, or another root.
        axes: what the stream is for, e.g. ``"initial"`` or ``"training"``.

    Returns:
        63 bits, the same on every machine and in every version of Python.
    """
    text = json.dumps([seed, *axes], ensure_ascii=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
