"""What several surfaces share: settings, opening, the JSON of results."""
