"""Check, repair, salvage, back up and erase."""
