#!/bin/bash
# The guest: loads queue disciplines and prints what the kernel reports of each. /cases holds command lines of a shell,
# and `show` after those of a case: its answer is a line of JSON, the reports of v0 and of ifb4v0, or what a command
# said where it was refused.
set -u

while read -r module; do insmod "/modules/$module.ko" $(case $module in ifb) echo numifbs=0 ;; esac); done </modules/order
ip link add v0 numtxqueues 2 numrxqueues 2 type veth peer name v1
ip link set v0 up
ip link set v1 up

# A process takes a tenth of a second here: none is started for what a case has not.
reported() {
  local said=
  [ -e "/sys/class/net/$1" ] && said=$(tc -d -s -j qdisc show dev "$1" 2>/dev/null)
  said=${said//$'\n'/}
  echo "${said:-[]}"
}

echo 'penstock-oracle begin'
refused= arriving=
while read -r line; do
  if [ "$line" = show ]; then
    if [ -n "$refused" ]; then echo "$refused"; else echo "[$(reported v0), $(reported ifb4v0)]"; fi
    tc qdisc del dev v0 root 2>/dev/null
    [ -n "$arriving" ] && tc qdisc del dev v0 parent ffff:fff1 2>/dev/null
    [ -e /sys/class/net/ifb4v0 ] && ip link del ifb4v0
    refused= arriving=
  else
    case $line in *ffff* | *clsact*) arriving=1 ;; esac
    eval "$line" >/tmp/said 2>&1 || refused="refused: $line: $(tr '\n' ' ' </tmp/said)"
  fi
done </cases
echo 'penstock-oracle end'
