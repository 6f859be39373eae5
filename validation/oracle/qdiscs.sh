#!/bin/bash
# The guest: loads queue disciplines and prints what the kernel reports of each. /cases holds commands of tc, a line
# each, and `show` after those of a case: its answer is a line of JSON, or what tc said where it refused.
set -u

while read -r module; do insmod "/modules/$module.ko"; done </modules/order
ip link add v0 type veth peer name v1
ip link set v0 up
ip link set v1 up

echo 'penstock-oracle begin'
refused=
while read -r line; do
  if [ "$line" = show ]; then
    if [ -n "$refused" ]; then echo "$refused"; else tc -d -s -j qdisc show dev v0 | tr -d '\n'; echo; fi
    tc qdisc del dev v0 root 2>/dev/null
    refused=
  else
    $line >/tmp/said 2>&1 || refused="refused: $line: $(tr '\n' ' ' </tmp/said)"
  fi
done </cases
echo 'penstock-oracle end'
