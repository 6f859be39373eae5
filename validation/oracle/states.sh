#!/bin/bash
# The guest: loads queue disciplines and prints what `tc` says of them. /cases holds commands of tc, a line each;
# `show` prints a line of JSON and the text, in base64, or what tc said where it refused; `clear` begins anew.
set -u

while read -r module; do insmod "/modules/$module.ko"; done </modules/order
ip link add v0 type veth peer name v1
ip link set v0 up
ip link set v1 up

echo 'penstock-oracle begin'
refused=
while read -r line; do
  case $line in
    show)
      if [ -n "$refused" ]; then echo "$refused"; else
        echo "$(tc -d -s -j qdisc show dev v0 | tr -d '\n') $(tc -d -s qdisc show dev v0 | base64 | tr -d '\n')"
      fi ;;
    clear)
      tc qdisc del dev v0 root 2>/dev/null
      tc qdisc del dev v0 clsact 2>/dev/null
      refused= ;;
    *) bash -c "$line" >/tmp/said 2>&1 || refused="refused: $line: $(tr '\n' ' ' </tmp/said)" ;;
  esac
done </cases
echo 'penstock-oracle end'
