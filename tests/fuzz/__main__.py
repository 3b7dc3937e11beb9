"""`python -m tests.fuzz`: see docs/fuzz.md."""

from tests.fuzz.run import main

main()
