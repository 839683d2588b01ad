"""The command `pliant`, and `python -m pliant`."""

import os
import sys

if __name__ == "__main__" and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]  # modules of the working folder: code of whoever made it


def main() -> None:
    """Run the command line. Ctrl-C ends it in a word at any time, also while its modules are being loaded."""
    try:
        from pliant.cli import main as run  # start-up time, which Ctrl-C may fall into

        run()
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":  # workers of `reproduce` load this file as well
    main()
