"""Steps that change the candidate table after fusion."""
