"""`penstock validate`: the cases that ns-2 measured, run here and compared pair by pair."""
