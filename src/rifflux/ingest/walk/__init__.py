"""Walking of folders: finding files, applying ignore rules and opening files safely."""
