#!/bin/bash
# The guest: loads queue disciplines and prints what tc says of them. /cases holds lines of a shell; `show` prints a line
# of JSON, or what was said where a line was refused; `clear` begins anew.
set -u

while read -r module; do insmod "/modules/$module.ko" $(case $module in ifb) echo numifbs=0 ;; esac); done </modules/order
ip link add v0 numtxqueues 2 numrxqueues 2 type veth peer name v1
for device in lo v0 v1; do ip link set $device up; done

# To start a process takes a tenth of a second here. One tc stays up: what is written to it is done in order, and its
# answer to `qdisc show dev lo` tells that all before it is.
mkfifo /tmp/commands /tmp/said
: >/tmp/errors
tc -force -d -s -j -batch - </tmp/commands >/tmp/said 2>/tmp/errors &
exec 3>/tmp/commands 4</tmp/said 7</tmp/errors

# What was said of lines that were refused since the last look.
errors() {
  local line said=
  echo 'qdisc show dev lo' >&3
  read -r line <&4
  while read -r line <&7; do said+="$line "; done
  # Without the last words it is a warning.
  case $said in *'Command failed'*) echo "refused: $said" ;; esac
}

show() {
  local own there=[] text=
  echo 'qdisc show dev v0' >&3
  read -r own <&4
  # The tc that stays up knows devices by the number that they first had, and keeps text back.
  if [ -e /sys/class/net/ifb4v0 ]; then there=$(tc -d -s -j qdisc show dev ifb4v0); fi
  if [ -e /texts ]; then text=$(tc -d -s qdisc show dev v0); fi
  echo "{\"own\": ${own:-[]}, \"there\": ${there//$'\n'/}, \"text\": \"${text//$'\n'/\\n}\"}"
}

echo 'penstock-oracle begin'
refused=
while read -r line; do
  case $line in
    show)
      said=$(errors)
      refused=${refused:-$said}
      if [ -n "$refused" ]; then echo "\"${refused//\"/}\""; else show; fi
      ;;
    clear)
      echo 'qdisc del dev v0 root' >&3
      echo 'qdisc del dev v0 parent ffff:fff1' >&3
      errors >/dev/null
      if [ -e /sys/class/net/ifb4v0 ]; then ip link del ifb4v0; fi
      refused=
      ;;
    *[\"\'\\\|\>\;\$\#]* | *ifb4v0* | [!t]* | t[!c]*)
      said=$(errors)
      refused=${refused:-$said}
      eval "$line" >/tmp/heard 2>&1 || refused=${refused:-"refused: $line: $(tr '\n' ' ' </tmp/heard)"}
      ;;
    *) echo "${line#tc }" >&3 ;;
  esac
done </cases
echo 'penstock-oracle end'
