"""The web page at `/`: server-rendered parts, and the files for browsers."""
