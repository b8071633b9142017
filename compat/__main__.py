"""`python -m compat` is the command `compat`."""

from compat.cli.app import main

if __name__ == "__main__":
    main()
