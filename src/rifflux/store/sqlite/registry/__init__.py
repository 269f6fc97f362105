"""Settings, accounts, usage and events."""
