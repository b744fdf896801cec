"""Quantizers for tests: good ones, clumsy ones and broken ones."""

from __future__ import annotations

import random

import numpy as np
import torch

from benchsuite.models.quantized import SiteQuantizedModel, WeightFiller

#: What a quantizer was given last.
JOBS = []


class Identity:
    """Returns the FP32 model."""

    def quantize(self, job):
        JOBS.append(job)
        return SiteQuantizedModel(job.model)


class Weights:
    """Rounds the weights."""

    def __init__(self, bits=4):
        self.bits = bits

    def quantize(self, job):
        for _, module in job.model.weights():
            module.weight_site.fill(WeightFiller(self.bits))
        return SiteQuantizedModel(job.model, {"bits": self.bits})


class Retrained:
    """Trains from scratch with the task's recipe and quantizes nothing."""

    def quantize(self, job):
        with torch.no_grad():  # as a careless method might
            return SiteQuantizedModel(job.train(job.initial_model()))


class Noisy:
    """Adds noise to the weights: from the given generator, or from the global streams."""

    def __init__(self, source):
        self.source = source

    def quantize(self, job):
        with torch.no_grad():
            for parameter in job.model.parameters():
                parameter += self.noise(job, parameter.shape)
        return SiteQuantizedModel(job.model)

    def noise(self, job, shape):
        if self.source == "generator":
            return torch.randn(shape, generator=job.generator)
        if self.source == "global":
            return torch.randn(shape) + random.random() + np.random.rand()
        return torch.from_numpy(np.random.default_rng().normal(size=shape, scale=3.0)).float()


class Vandal:
    """Writes into everything it can reach, then fails or not."""

    def __init__(self, fail=False):
        self.fail = fail

    def quantize(self, job):
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(2)
        torch.set_grad_enabled(False)
        for seed in (torch.manual_seed, random.seed, np.random.seed):
            seed(666)
        job.graph.x.fill_(torch.nan)
        job.graph.edge_index.zero_()
        for parameter in [*job.model.parameters(), *job.initial_model().parameters()]:
            parameter.data.fill_(7.0)
        if self.fail:
            raise RuntimeError("on purpose")
        return SiteQuantizedModel(job.model)


class Returns:
    """Returns what it is told to."""

    def __init__(self, what):
        self.what = what

    def quantize(self, job):
        if self.what == "nothing":
            return None
        model = SiteQuantizedModel(job.model)
        if self.what == "nan":
            model.predict = lambda graph: torch.full((graph.num_nodes, 3), torch.nan)
        return model
