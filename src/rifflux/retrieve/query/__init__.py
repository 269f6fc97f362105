"""Query understanding: parsing, classification and expansion."""
