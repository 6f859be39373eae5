"""Says what numbers of several runs say.

`estimate` has means with intervals that stay within bounds, `intervals` the kinds of interval, `paired` tests seed by
seed and of many at once, `rules` bounds that an interval keeps. Runs are independent replications, one a seed; nothing
here treats packets of one run as independent.
"""
