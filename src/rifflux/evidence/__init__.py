"""Evidence that can be cited and verified: choosing, trimming, packing and verifying it."""
