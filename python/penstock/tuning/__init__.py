"""Parameters of a discipline for a range of conditions: `penstock tune`.

Modules, each of which uses those before it: `goals` (what is wanted), `conditions` (the range), `judge`
(one number over the range), `facts` (what the range says about the link), `space` (which keys are
searched, and where), `rules` (published settings as first candidates), `search` (the optimiser),
`candidates`, `racing` (who is worth more seeds), `hunt` (the search from beginning to end), `bench`
(candidates are run and kept), `compare` (what the best one is held against), `statement` (what is said
of it), `figures`, `files` (tables and the tuned scenario), `page`, `tables` (on the terminal),
`tune`.
"""
