"""Models to probe: families of transformers models built small, and trained checkpoints from local files."""
