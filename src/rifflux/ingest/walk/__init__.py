"""Walk folders: find files, apply ignore rules, keep roots, watch for changes."""
