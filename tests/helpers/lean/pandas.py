"""In the place of pandas for the processes that tests start: Arrow asks for it at its first array, and commands start
a quarter of a second later where it is there. What is shown of pandas itself is tried without this folder.
"""

raise ImportError("the tests' processes do without pandas")
