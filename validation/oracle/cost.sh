#!/bin/bash
# The guest: what a packet costs. The kernel's pktgen sends to a device that throws away, through what each folder below
# /cases says. An instruction takes a nanosecond here, so what is counted is instructions.
set -euE
trap 'echo "line $LINENO: $BASH_COMMAND" >&2' ERR

while read -r module; do insmod "/modules/$module.ko" $(case $module in dummy) echo numdummies=0 ;; esac); done \
  </modules/order
mount -t bpf bpf /sys/fs/bpf
penstock=/penstock/program loader=/penstock/ld-linux-x86-64.so.2
if [ -e $loader ]; then penstock="$loader --library-path /penstock $penstock"; fi

tell() { echo "$2" >/proc/net/pktgen/$1; }

echo 'penstock-oracle begin'
# The first round finds cold caches of memory; the second counts.
for case in /cases/* /cases/*; do
  ip link add d0 type dummy
  ip link set d0 up
  tc -batch $case/qdiscs
  if [ -e $case/program.json ]; then $penstock load d0 <$case/program.json >&2; fi
  tell kpktgend_0 rem_device_all
  tell kpktgend_0 'add_device d0'
  while read -r line; do tell d0 "$line"; done <$case/sends
  tell pgctrl start
  shown=null
  if [ -e $case/program.json ]; then
    shown=$($penstock show d0)
    $penstock unload d0 >&2
  fi
  result=$(grep -o 'OK: [0-9]*' /proc/net/pktgen/d0)
  echo "{\"us\": ${result#OK: }, \"qdiscs\": $(tc -s -j qdisc show dev d0), \"program\": $shown}"
  ip link del d0
done
echo 'penstock-oracle end'
