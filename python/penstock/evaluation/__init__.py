"""Queue disciplines judged whole, as RFC 7928 asks.

Modules, each of which uses those before it: `rfc` (the scenarios of the RFC), `candidates` (what is judged), `points`
(what is run), `drive` (it is run and kept), `numbers` (what came of it), `questions` (what a reader wants to know, each
with its rule), `judge` (the answers), `figures`, `page`, `evaluate`.
"""
