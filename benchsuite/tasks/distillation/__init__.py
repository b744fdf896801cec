"""Block-wise distillation of a small student under a norm placement and a depth curriculum (``distillation/1``)."""
