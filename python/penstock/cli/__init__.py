"""The command `penstock`: one module for each of its commands, and what they share.

`app` is the program and its commands as Click reads them, `options` has the options that several commands take,
`inputs` reads and checks what the user gave, `output` prints and writes. Standard output carries results, standard
error everything else.
"""

from penstock.cli.app import main

__all__ = ["main"]
