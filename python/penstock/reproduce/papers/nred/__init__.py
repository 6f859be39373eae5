"""NRED, adaptive nonlinear RED: the reproduction of figures 1 and 3 to 6.

N − 1 FTP flows and one CBR flow share a slow link. The buffer varies at N = 50, and N varies with a
buffer of 100 KB. The paper says of NRED, whose drop probability is a power of the average queue that
reaches 1 at the buffer: it has the lowest delay at large buffers and at small N, is like the others
at small buffers, and has the lowest loss.
"""
