"""Evidence that can be cited and checked: choose, trim, pack, verify."""
