"""Import papers from PDF, recognizing their parts by position and typography."""
