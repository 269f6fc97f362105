"""Match, merge and split records of one work."""
