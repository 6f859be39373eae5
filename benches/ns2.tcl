# The four benchmark cases for ns-2, beside b1.toml .. b4.toml:  ns ns2.tcl CASE SECONDS COUNT SEED
# COUNT 1 adds a queue monitor (it costs time) and prints what passed the bottleneck; 0 is for timing.
# SEED 0 leaves ns-2's own default.
# One JSON object on stdout. Goodput is in wire bytes, as ns-2's TCP sink counts them.
lassign $argv name seconds count seed

#                 flows segment access bottleneck delay   near: first, step  far  min max  limit
array set table {
    B1          { 100   1000    100Mb  10Mb       0.040   0.002 0.008        0.001  20   60  120 }
    B2          { 100   1460    10Gb   1Gb        0.020   0.0001 0           0.0001 833 2500 6667 }
    B3          { 1000  1460    10Gb   1Gb        0.020   0.0001 0           0.0001 833 2500 6667 }
    B4          { 1     1460    10Gb   1Gb        0.020   0.0001 0           0.0001 833 2500 6667 }
}
lassign $table($name) flows segment access rate delay first spread far low high limit

# Only the headers in use, and routes by hand: else set-up and memory would be most of what is measured.
remove-all-packet-headers
add-packet-header IP TCP Flags RTP
set sim [new Simulator]
if {$seed} { $defaultRNG seed $seed }
$sim rtproto Manual

foreach {variable value} [list thresh_ $low maxthresh_ $high q_weight_ 0.002 linterm_ 10 gentle_ true adaptive_ 0 \
        bytes_ false queue_in_bytes_ false setbit_ false mean_pktsize_ [expr {$segment + 40}]] {
    Queue/RED set $variable $value
}
foreach {variable value} [list packetSize_ $segment window_ 700 windowInit_ 2 minrto_ 0.2 overhead_ 0] {
    Agent/TCP set $variable $value
}

set left [$sim node]
set right [$sim node]
$sim simplex-link $left $right $rate $delay RED
$sim simplex-link $right $left $rate $delay DropTail
$sim queue-limit $left $right $limit
$sim queue-limit $right $left 100000

proc hop {at to via} {
    global sim
    $at add-route [$to id] [[$sim link $at $via] head]
}
proc host {router delay} {
    global sim access
    set host [$sim node]
    $sim duplex-link $host $router $access $delay DropTail
    $sim queue-limit $host $router 100000
    $sim queue-limit $router $host 100000
    return $host
}
for {set i 0} {$i < $flows} {incr i} {
    set from [host $left [expr {$first + ($flows > 1 ? $spread * $i / ($flows - 1.0) : 0.0)}]]
    set to [host $right $far]
    hop $from $to $left;  hop $left $to $right;  hop $right $to $to
    hop $to $from $right; hop $right $from $left; hop $left $from $from
    if {$name eq "B4"} {
        set source [new Agent/UDP]
        $source set packetSize_ 1500
        set sink [new Agent/LossMonitor]
        set application [new Application/Traffic/CBR]
        $application set packetSize_ 1500
        $application set rate_ 1.1Gb
    } else {
        set source [new Agent/TCP/Newreno]
        set sink [new Agent/TCPSink]
        set application [new Application/FTP]
    }
    $sim attach-agent $from $source
    $sim attach-agent $to $sink
    $sim connect $source $sink
    $application attach-agent $source
    $sim at [expr {double($i) / $flows}] "$application start"
    lappend sinks $sink
}
if {$count} { set monitor [$sim monitor-queue $left $right ""] }

$sim at $seconds {
    set bytes 0
    foreach sink $sinks { incr bytes [$sink set bytes_] }
    set line "\"case\": \"$name\", \"goodput_wire_bps\": [expr {$bytes * 8.0 / $seconds}]"
    if {$count} {
        append line ", \"packets\": [$monitor set pdepartures_], \"drops\": [$monitor set pdrops_]"
    }
    puts "{$line}"
    exit 0
}
$sim run
