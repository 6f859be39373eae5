"""Asks what a second level of congestion is worth: MECN's, SCE's and L4S's signals beside drops and classic ECN.

It reads like a paper's package, whose paper is the literature: `scenarios` has the signals and what is run, `exhibits`
what is measured and how it is shown, `claims` what sources lead to expect and what is asked beside that, `answers` the
sentences that follow, and `paper` the whole.
"""

#: On the command line. `all` does not choose it.
KEY = "levels"
#: After how many seeds a claim is judged. Those over links of 1 Gbit/s take no more than the first of them.
LOOKS = (5, 10)
