"""Asks what a second level of congestion is worth: MECN's, SCE's and L4S's signals beside drops and classic ECN.

It reads like a paper's package, whose paper is the literature: `signals` has the signals and the places, `scenarios`
what else is run, `measured` what is measured, `tables` and `exhibits` how it is shown, `expected` what sources lead to
expect, `claims` what is asked beside that, `values` the numbers from runs that both are about, `answers` the sentences
that follow, and `paper` the whole.
"""

#: On the command line. `all` does not choose it.
KEY = "levels"
#: After how many seeds a claim is judged.
LOOKS = (10, 20)
