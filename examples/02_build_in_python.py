"""The tables of a scenario file as Python objects. What is left out has its default.

4 sources, 2 to 27 ms -- R0 == 10 Mbit/s, 20 ms, 50 packets == R1 -- sinks
"""

import penstock as ps

scenario = ps.Scenario(
    name="built here",
    duration="20 s",
    measure={"from": "5 s"},
    topology=ps.Dumbbell(
        bottleneck=ps.Link(rate="10 Mbit/s", delay="20 ms", buffer="50 packets"),
        access=ps.Access(rate="100 Mbit/s", delay={"spread": ["2 ms", "27 ms"]}),
    ),
    aqm=ps.Red(min_th=5, max_th=15, max_p=0.1),
    traffic=[ps.Ftp(flows=4, tcp="sack")],
)
result = ps.run(scenario)

print("the shorter the way, the more a flow gets:")
for flow in result.runs[0].flows:
    print(f"  {flow['goodput_bps'] / 1e6:.1f} Mbit/s")

# A mistake is found before anything runs. The message says what would be right.
try:
    ps.Scenario(
        topology=ps.Dumbbell(bottleneck=ps.Link(rate="10", delay="20 ms", buffer=50)),
        traffic=[ps.Ftp()],
    )
except ps.ScenarioError as error:
    print("refused:", "rate" in str(error))
