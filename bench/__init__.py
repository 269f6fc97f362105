"""What is measured of Rifflux: `python -m bench` lists the programs, README.md tells what each needs."""
