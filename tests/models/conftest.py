"""Fixtures for tests of the models."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch

from benchsuite.models.backbones import BACKBONES, build_backbone
from benchsuite.testing.toys import toy_graph


@pytest.fixture(params=sorted(BACKBONES))
def backbone(request):
    """Return the name of each backbone in turn."""
    return request.param


@pytest.fixture
def build():
    """Return a function that builds an untrained backbone for the toy graph, with biases that are not zero."""

    def build(name, seed=0, classes=3, **options):
        model = build_backbone(name, 12, classes, seed, **{"hidden": 8, **options}).eval()
        generator = torch.Generator().manual_seed(seed + 1)
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                if "bias" in key:
                    parameter.normal_(generator=generator)
        return model

    return build


@pytest.fixture
def graph():
    """Return the toy graph: 60 nodes, heavy-tailed degrees, the last node isolated."""
    return toy_graph()


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    """Return a folder as transformers saves a model, with files beside it that an import does not want."""
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("bert")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(BertConfig(**sizes, vocab_size=64)).save_pretrained(folder)
    (folder / "README.md").write_text("about it")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    return folder


@pytest.fixture
def full_disk():
    """Return a context in which no file can grow over so many bytes: what a full disk does, in this process alone."""

    resource = pytest.importorskip("resource", reason="no limits on files here")

    @contextmanager
    def limited(size):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited
