"""A service for many people: accounts, usage, analytics."""
