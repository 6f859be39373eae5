"""Tries what can be mended in the papers' disciplines, and what that is worth beside others.

It reads like a paper's package: `scenarios` has the repairs and what is run, `exhibits` the figures
and tables, `claims` what is asked as numbers, and `paper` why each repair is what it is, what was
found, and `PAPERS`. None of it is tuned: each constant is derived, and the second half of the runs
is far from the papers' own experiments.
"""

#: On the command line. `repairs` chooses them all, `all` none of them.
REPAIRS = ("repair-amecn", "repair-rared", "repair-nred", "repair-red-at")
