"""benchsuite: benchmarks for GNN quantizers, norm placements, depth curricula and model probes."""

__version__ = "0.1.0"
