"""One file for each family of file formats; each offers functions path -> Raw, registered in geometry/files.py."""
