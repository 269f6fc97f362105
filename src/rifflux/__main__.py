"""`python -m rifflux` is the command `rifflux`."""

from rifflux.surfaces.cli import main

if __name__ == "__main__":
    main()
