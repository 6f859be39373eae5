"""RARED, rate-aware RED: the reproduction of its section 4, figures 3 to 6, and of its text.

Two FTP flows run for 40 s over a slow link with a long delay. In the middle m more join. The paper
says of RARED, which signals strongly while the average queue climbs: it has a lower delay, delay
jitter and loss than RED, REM and ARED, at the same throughput; with a short delay it does as ARED
does.
"""
