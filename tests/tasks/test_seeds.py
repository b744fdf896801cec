"""Seeds of one source of randomness: stable, wide, and different from those of another source."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from benchsuite.tasks.seeds import derive

axes = st.lists(st.text(max_size=8), max_size=4)


def test_a_seed_never_changes():
    digest = hashlib.sha256(b'[0, "training"]').hexdigest()
    assert derive(0, "training") == int(digest[:16], 16) // 2
    assert derive(0, "training") == 603381194001252214


@given(st.integers(0, 2**40), axes)
def test_a_seed_fits_63_bits(seed, names):
    assert 0 <= derive(seed, *names) < 2**63


@given(st.integers(0, 100), axes, st.integers(0, 100), axes)
def test_different_axes_have_different_seeds(seed, names, other_seed, other_names):
    same = (seed, names) == (other_seed, other_names)
    assert (derive(seed, *names) == derive(other_seed, *other_names)) == same


def test_axes_do_not_run_together():
    assert derive(1, "ab", "c") != derive(1, "a", "bc") != derive(1, "abc")
