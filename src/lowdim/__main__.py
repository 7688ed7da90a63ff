"""`python -m lowdim`: the command."""

from lowdim.cli import main

if __name__ == "__main__":
    main()
