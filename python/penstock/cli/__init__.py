"""The command `penstock`: one module for each of its commands, and what they share.

`start` is the program, `app` its commands as Click reads them, `options` has the options that several commands take,
`inputs` reads and checks what the user gave, `output` prints and writes. Standard output carries results, standard
error everything else. `plain` reads a call of `run` without Click, and `simulate` is what `run` does.
"""

from penstock.cli.start import main

__all__ = ["main"]
