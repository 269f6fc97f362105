"""Code shared by the surfaces: settings, opening, the JSON of results."""
