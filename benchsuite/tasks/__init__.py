"""What is measured: tasks with their recipes, protocols and reference models."""
