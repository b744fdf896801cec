"""Batch normalisation over the nodes of a graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class BatchNorm(nn.Module):
    """x' = (x - mean) / sqrt(var + eps) * gain + shift, feature by feature (Ioffe and Szegedy, ICML 2015).

    In eval mode mean and variance are the running ones, so it is an affine map of each feature. A single node has no
    variance, and in training mode is normalised by the running statistics too.

    Args:
        features: width.
        momentum: weight of the newest statistics in the running ones.
    """

    mean: Tensor
    var: Tensor

    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.gain = nn.Parameter(torch.ones(features))
        self.shift = nn.Parameter(torch.zeros(features))
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("var", torch.ones(features))

    def reset_parameters(self) -> None:
        """Start anew: the identity, up to eps."""
        with torch.no_grad():
            for tensor, value in ((self.gain, 1.0), (self.shift, 0.0), (self.mean, 0.0), (self.var, 1.0)):
                tensor.fill_(value)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``[nodes, features]`` to the same shape."""
        measure = self.training and x.shape[0] > 1
        return functional.batch_norm(x, self.mean, self.var, self.gain, self.shift, measure, self.momentum)
