"""One file per file format (or family); each offers functions path -> Raw, registered in geometry/files.py."""
