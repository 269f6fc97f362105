"""Checking, repairing, salvaging, backing up and restoring."""
