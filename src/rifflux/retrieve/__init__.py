"""Journey two: a question is understood, candidates are found and fused, and the best are explained."""
