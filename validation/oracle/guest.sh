#!/bin/bash
# The guest: a dumbbell of three network namespaces, c (client), r (router) and s (server), real TCP over it, and on the
# console, between marker lines, a list of JSON documents: one for each folder below /runs, which says what to run.
set -euE

trap '' PIPE
trap 'echo "line $LINENO: $BASH_COMMAND" >&2' ERR
. /settings
while read -r module; do insmod "/modules/$module.ko"; done </modules/order

# A program of ours that came along, with libraries of its own.
penstock=/penstock/program loader=/penstock/ld-linux-x86-64.so.2
if [ -e $loader ]; then penstock="$loader --library-path /penstock $penstock"; fi

# To start a process takes a tenth of a second here, and another one in a namespace: a shell stays up in each, which is
# told what to do and answers with the exit status.
mkfifo /tmp/c /tmp/r /tmp/s /tmp/status /tmp/never /tmp/commands
for ns in c r s; do
  ip netns add $ns
  ip netns exec $ns bash </tmp/$ns &
done
exec 4<>/tmp/never 9<>/tmp/status 5>/tmp/c 6>/tmp/r 7>/tmp/s
declare -A shell=([c]=5 [r]=6 [s]=7)
in_ns() {
  local status
  printf '%s\necho $? >/tmp/status\n' "$2" >&${shell[$1]}
  read -r -u 9 status
  [ "$status" = 0 ]
}

# Starts what goes on while others do; `finished` waits until it has ended.
start_in() {
  rm -f /tmp/end-$2
  mkfifo /tmp/end-$2
  printf '(set +e; %s; echo $? >/tmp/end-%s) &\n' "$3" "$2" >&${shell[$1]}
}
finished() {
  local status
  read -r status </tmp/end-$1
  [ "$status" = 0 ]
}

# Sleeps until the clock shows so many microseconds; a pipe that nobody writes to is the timer.
sleep_until() {
  local seconds left=$(($1 - ${EPOCHREALTIME/./}))
  [ $left -gt 0 ] || return 0
  printf -v seconds '%d.%06d' $((left / 1000000)) $((left % 1000000))
  read -r -t $seconds -u 4 || true
}

# Two links, c0-rc and rs-s0. Namespaces may take by default only what is allowed to all; whole checksums, and no segment
# above the MTU.
echo "reno $controls" >/proc/sys/net/ipv4/tcp_allowed_congestion_control
in_ns r 'ip -batch - <<END
link set lo up
link add rc type veth peer name c0 netns c
link add rs type veth peer name s0 netns s
link set rc up
link set rs up
END'
declare -A address=([c]=10.9.1.2 [s]=10.9.2.2) gateway=([c]=10.9.1.1 [s]=10.9.2.1)
if [ $bottleneck = kernel ]; then
  in_ns r 'ip addr add 10.9.1.1/24 dev rc && ip addr add 10.9.2.1/24 dev rs && echo 1 >/proc/sys/net/ipv4/ip_forward'
else
  address=([c]=10.9.0.1 [s]=10.9.0.2)
fi
for host in c s; do
  in_ns $host "ethtool -K ${host}0 tx off >/dev/null && echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save &&
    ip -batch - <<END
link set lo up
addr add ${address[$host]}/24 dev ${host}0
link set ${host}0 up
END"
  if [ $bottleneck = kernel ]; then in_ns $host "ip route add default via ${gateway[$host]}"; fi
done

# The kernel is the bottleneck: netem at both hosts, and the queue at the router.
kernel() {
  for host in c s; do in_ns $host "tc qdisc replace dev ${host}0 root netem delay $delay limit 10000"; done
  in_ns r "tc qdisc del dev rs root 2>/dev/null; tc -batch $run/qdiscs"
  if [ -e $run/adaptive ]; then
    # A message of netlink's as it is, but for the interface's number; an error in the answer fails.
    in_ns r 'perl -e '"'"'local $/; open(F, "<:raw", $ARGV[0]) or die $!; my $m = <F>;
      substr($m, 20, 4) = pack("l", $ARGV[1]);
      socket(S, 16, 3, 0) or die $!; send(S, $m, 0, pack("SSLL", 16, 0, 0, 0)) or die $!;
      defined(recv(S, my $answer, 8192, 0)) or die $!;
      my $error = unpack("x16 l", $answer); die "netlink: error $error" if $error'"'"' \
      '"$run/adaptive"' "$(</sys/class/net/rs/ifindex)"'
  fi
  if [ -e $run/program.json ]; then
    program unload rs 2>/dev/null || true
    program load rs <$run/program.json >&2
  fi
}

# Our program in the kernel. A shell with `ip netns exec` has a file system of its own, so it is started from here.
program() { nsenter --net=/run/netns/r $penstock "$@"; }

# Our router is.
router() {
  local seed
  seed=$(</proc/cmdline)
  seed=${seed##*oracle.seed=}
  start_in r router "timeout $((router_duration + 30)) $penstock router $run/scenario.json --client rc --server rs \
    --duration $router_duration --seed ${seed%% *} --json /tmp/router.json >&2"
}

# Groups of flows, one after the other: control and ECN are what the hosts have when a connection opens, at both ends,
# since dctcp's receiver answers marks otherwise, too.
flows() {
  local port=5201 number cc ecn start_s
  while read -r number cc ecn start_s; do
    local settings="echo $ecn >/proc/sys/net/ipv4/tcp_ecn && echo $cc >/proc/sys/net/ipv4/tcp_congestion_control"
    in_ns c "$settings"
    in_ns s "$settings && iperf3 -s -1 -D -p $port >&2"
    sleep_until $((${EPOCHREALTIME/./} + 200000))
    if [ $port = 5201 ]; then begin=${EPOCHREALTIME/./}; fi
    sleep_until $((begin + start_s * 1000000))
    start_in c $port "timeout $((duration + 30)) iperf3 -4 -J -i $interval -c ${address[s]} -p $port -C $cc -P $number \
      -O $((warmup - start_s)) -t $((duration - warmup)) >/tmp/iperf-$port.json"
    ports+=($port)
    port=$((port + 1))
  done <$run/groups
}

# The clock of sample k is begin + warmup + k·step. tc stays up.
sample() {
  local next=$((begin + warmup * 1000000)) end=$((begin + duration * 1000000))
  start_in r samples 'tc -s -d -j -batch /tmp/commands >/tmp/samples'
  exec 3>/tmp/commands
  while [ $next -le $end ]; do
    sleep_until $next
    echo 'qdisc show dev rs' >&3
    if [ -e $run/program.json ] && { [ ${#times[@]} = 0 ] || [ $((next + step_us)) -gt $end ]; }; then
      program show rs >>/tmp/shown
    fi
    times+=($((${EPOCHREALTIME/./} - begin)))
    next=$((next + step_us))
  done
  exec 3>&-
  finished samples
}

# Of the samples between the first and the last there is what waits, and RED's max_p: the leaf is what comes last.
document() {
  local IFS=, port separator= waiting='.*"backlog":([0-9]+),.*"qlen":([0-9]+).*'
  echo "{\"kernel\": \"$(</proc/sys/kernel/osrelease)\", \"times_us\": [${times[*]}], \"samples\": ["
  sed -E "1b; \$b; s/.*\"probability\":([0-9.]+)$waiting/[\2,\3,\1]/; t; s/$waiting/[\1,\2]/" /tmp/samples |
    sed '$!s/$/,/'
  echo '], "iperf3": ['
  for port in "${ports[@]}"; do
    echo "$separator$(</tmp/iperf-$port.json)"
    separator=,
  done
  echo "], \"program\": [$(paste -s -d, /tmp/shown)], \"router\": $(</tmp/router.json)}"
}

separator=
exec 8>/tmp/documents
for run in /runs/*; do
  . $run/settings
  times=() ports=()
  echo '[]' >/tmp/samples
  : >/tmp/shown
  echo null >/tmp/router.json
  $bottleneck
  flows
  if [ $bottleneck = kernel ]; then sample; else times=(0); fi
  for port in "${ports[@]}"; do finished $port; done
  if [ $bottleneck = router ]; then finished router; fi
  echo "$separator" >&8
  document >&8
  separator=,
done

echo 'penstock-oracle begin'
echo '['
cat /tmp/documents
echo ']'
echo 'penstock-oracle end'
