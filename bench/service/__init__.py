"""What the HTTP service bears."""
