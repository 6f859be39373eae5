"""`penstock validate-real`: one scenario in the simulator and on real packets, compared metric by metric."""
