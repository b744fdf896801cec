"""Node selection: a model scores the nodes of unseen graphs, and the host measures what the best of them achieve."""
