"""The page for people, at `/`: what the server renders, and the files that a browser runs."""
