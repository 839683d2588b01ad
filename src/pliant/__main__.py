"""`python -m pliant`."""

from pliant.cli import main

if __name__ == "__main__":  # workers of `reproduce` load this file as well
    main()
