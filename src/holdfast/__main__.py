"""`python -m holdfast` is the same as `holdfast`."""

from holdfast.cli import main

main()
