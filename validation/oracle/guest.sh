#!/bin/bash
# The guest: a dumbbell of three network namespaces, c (client), r (router) and s (server), real TCP over it, and one
# JSON document on the console between marker lines. /settings says what; oracle.py writes it.
set -euE

trap '' PIPE
trap 'echo "line $LINENO: $BASH_COMMAND" >&2' ERR
. /settings
while read -r module; do insmod "/modules/$module.ko"; done </modules/order
# Namespaces may take by default only what is allowed to all.
sysctl -qw net.ipv4.tcp_allowed_congestion_control="reno $cc"

in_ns() { local ns=$1; shift; ip netns exec "$ns" "$@"; }

# Two links, c0-rc and rs-s0.
for ns in c r s; do
  ip netns add $ns
  ip -n $ns link set lo up
done
ip -n r link add rc type veth peer name c0 netns c
ip -n r link add rs type veth peer name s0 netns s
for host in c s; do
  in_ns $host ethtool -K ${host}0 tx off >/dev/null # whole checksums, no segment above the MTU
  # The control at both ends: dctcp's receiver answers marks otherwise, too.
  in_ns $host sysctl -qw net.ipv4.tcp_ecn=$ecn net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_congestion_control=$cc
  ip -n $host link set ${host}0 up
  ip -n r link set r$host up
done

if [ "$bottleneck" = kernel ]; then
  server=10.9.2.2
  ip -n c addr add 10.9.1.2/24 dev c0
  ip -n r addr add 10.9.1.1/24 dev rc
  ip -n r addr add 10.9.2.1/24 dev rs
  ip -n s addr add 10.9.2.2/24 dev s0
  ip -n c route add default via 10.9.1.1
  ip -n s route add default via 10.9.2.1
  in_ns r sysctl -qw net.ipv4.ip_forward=1
  for host in c s; do in_ns $host tc qdisc add dev ${host}0 root netem delay $delay limit 10000; done
  in_ns r tc qdisc add dev rs root handle 1: tbf rate $rate burst $tbf_burst limit 10000000
  in_ns r tc qdisc add dev rs parent 1:1 handle 10: $qdisc
  if [ -e /adaptive ]; then
    # A message of netlink's as it is, but for the interface's number; an error in the answer fails.
    in_ns r perl -e 'local $/; open(F, "<:raw", "/adaptive") or die $!; my $m = <F>;
      substr($m, 20, 4) = pack("l", $ARGV[0]);
      socket(S, 16, 3, 0) or die $!; send(S, $m, 0, pack("SSLL", 16, 0, 0, 0)) or die $!;
      defined(recv(S, my $answer, 8192, 0)) or die $!;
      my $error = unpack("x16 l", $answer); die "netlink: error $error" if $error' "$(in_ns r cat /sys/class/net/rs/ifindex)"
  fi
else
  server=10.9.0.2
  ip -n c addr add 10.9.0.1/24 dev c0
  ip -n s addr add 10.9.0.2/24 dev s0
  start=(/penstock/router)
  loader=/penstock/ld-linux-x86-64.so.2
  if [ -e $loader ]; then start=($loader --library-path /penstock /penstock/router); fi
  seed=$(</proc/cmdline)
  seed=${seed##*oracle.seed=}
  in_ns r timeout $((router_duration + 30)) "${start[@]}" router /scenario.json --client rc --server rs \
    --duration $router_duration --seed "${seed%% *}" --json /tmp/router.json >&2 &
  router=$!
fi
in_ns s iperf3 -s -1 -D >&2
sleep 0.2

begin=${EPOCHREALTIME/./}
in_ns c timeout $((duration + 30)) iperf3 -4 -J -i 0.1 -c $server -C $cc -P $flows -O $warmup -t $((duration - warmup)) \
  >/tmp/iperf.json &
client=$!

# The clock of sample k is begin + warmup + k·step; tc stays up, a pipe that nobody writes to is the timer.
if [ "$bottleneck" = kernel ]; then
  mkfifo /tmp/commands /tmp/never
  in_ns r tc -s -d -j -batch - </tmp/commands >/tmp/samples &
  sampler=$!
  exec 3>/tmp/commands 4<>/tmp/never
  : >/tmp/times
  next=$((begin + warmup * 1000000)) end=$((begin + duration * 1000000))
  while [ $next -le $end ]; do
    left=$((next - ${EPOCHREALTIME/./}))
    if [ $left -gt 0 ]; then
      printf -v seconds '%d.%06d' $((left / 1000000)) $((left % 1000000))
      read -r -t $seconds -u 4 || true
    fi
    echo 'qdisc show dev rs' >&3
    echo $((${EPOCHREALTIME/./} - begin)) >>/tmp/times
    next=$((next + step_us))
  done
  exec 3>&-
  wait $sampler
else
  echo '[]' >/tmp/samples
  echo 0 >/tmp/times
fi
wait $client
if [ "$bottleneck" = kernel ]; then echo null >/tmp/router.json; else wait $router; fi

echo 'penstock-oracle begin'
echo "{\"kernel\": \"$(uname -r)\", \"times_us\": [$(paste -sd, /tmp/times)], \"samples\": ["
sed '$!s/$/,/' /tmp/samples
echo '], "iperf3":'
cat /tmp/iperf.json
echo ", \"netstat\": \"$(in_ns c awk '/^TcpExt:/ { printf "%s ", $0 }' /proc/net/netstat)\""
echo ', "router":'
cat /tmp/router.json
echo '}'
echo 'penstock-oracle end'
