"""Agreement with others: with ns-2 (`penstock.validate.ns2`) and with real packets (`penstock.validate.real`)."""
