"""Linux's queue disciplines: their arithmetic, and the arguments that `tc` takes for each."""
