"""Papers as PDF: what of a work its pages show, by where it stands and how it is set."""
