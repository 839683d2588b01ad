"""`python -m pliant`."""

import os
import sys

if __name__ == "__main__" and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]  # modules of the working folder: code of whoever made it

from pliant.cli import main

if __name__ == "__main__":  # workers of `reproduce` load this file as well
    main()
