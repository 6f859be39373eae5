"""RED-AT, RED with adaptive thresholds: the reproduction of its section 6, figures 8 to 12.

Figures 1 to 5, which illustrate other work and the thresholds, are drawn from runs, too.

N sources, 70 % of them FTP and 30 % HTTP, share a link. The paper says of RED-AT, which moves RED's
two thresholds with the region that the average queue stays in: it has smaller oscillations of the
queue and its average, the lowest drop rate and jitter and the highest throughput. ARED's throughput
meets RED-AT's at high load, where RED's declines sharply.
"""
