"""RED against DropTail: figures 2 to 5 and tables 1 to 4 of a comparison in ns-2.

N connections share a long link of 45 Mbit/s. The paper has their throughput over N (cases 1 and 2)
and their fairness over a delay D (cases 3 and 4), and says that RED does slightly better in both. It
says neither what the connections are nor how long they run; the reading taken here is the one that
comes nearest to its tables.
"""
