"""What remains when processes work at once, or are ended."""
