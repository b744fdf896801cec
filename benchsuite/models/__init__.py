"""Backbones with quantization sites, and the uniform grids that quantizers fill them with."""
