"""The command `lowdim`; everything heavy is imported when it is needed."""

from lowdim.cli.entry import main as main
