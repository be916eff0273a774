# One SCTP transfer in ns-2.35 over one or two disjoint paths, with losses by number. The trace file has a line per packet.
#   ns transfer.tcl key=value …
# `lose1` and `lose2` name packets of the bottlenecks from host a to host b; ns-2 counts from 0.
array set key {
    agent cmt  paths 2  buffer 65536  file 524288  delayed 1  lose1 ""  lose2 ""  down 0  until 80  trace transfer.tr
}
foreach word $argv {
    set at [string first = $word]
    set name [string range $word 0 [expr {$at - 1}]]
    if {![info exists key($name)]} {
        puts stderr "there is no key $name"
        exit 2
    }
    set key($name) [string range $word [expr {$at + 1}] end]
}

set ns [new Simulator]
Trace set show_sctphdr_ 1
Queue set limit_ 50
set hosts [list [$ns node] [$ns node]]
# No packets of both paths arrive at one instant: their order would be an accident.
array set delay {1 25ms 2 25.37ms}
set out [open $key(trace) w]
for {set path 1} {$path <= $key(paths)} {incr path} {
    foreach name {a left right b} { set node($name) [$ns node] }
    $ns multihome-add-interface [lindex $hosts 0] $node(a)
    $ns multihome-add-interface [lindex $hosts 1] $node(b)
    $ns duplex-link $node(a) $node(left) 100Mb 10ms DropTail
    $ns duplex-link $node(left) $node(right) 10Mb $delay($path) DropTail
    $ns duplex-link $node(right) $node(b) 100Mb 10ms DropTail
    if {$key(lose$path) ne ""} {
        set losses [new ErrorModel/List]
        $losses droplist $key(lose$path)
        $losses drop-target [new Agent/Null]
        # Behind the link, so that what is lost has taken its time there.
        $ns link-lossmodel $losses $node(left) $node(right)
    }
    if {$path == 2 && $key(down) > 0} {
        # No `rtmodel`: that also destroys what is on its way. What comes to the link from then on is lost.
        foreach {from to} [list $node(left) $node(right) $node(right) $node(left)] {
            set cut [new ErrorModel]
            $cut set rate_ 0
            $cut drop-target [new Agent/Null]
            $ns lossmodel $cut $from $to
            set queue [[$ns link $from $to] queue]
            $ns at $key(down) "$cut set rate_ 1; $queue reset"
        }
    }
    $ns trace-queue $node(a) $node(left) $out
    $ns trace-queue $node(right) $node(b) $out
    set far($path) $node(b)
}

set class [expr {$key(agent) eq "cmt" ? "Agent/SCTP/CMT" : "Agent/SCTP"}]
set ends [list [new $class] [new $class]]
foreach end $ends {
    $end set mtu_ 1500
    $end set dataChunkSize_ 1468
    $end set initialRwnd_ $key(buffer)
    $end set initialSsthresh_ 65536
    $end set useDelayedSacks_ $key(delayed)
    $end set numOutStreams_ 1
    if {$key(agent) eq "cmt"} {
        $end set useCmtReordering_ 1
        $end set useCmtCwnd_ 1
        $end set useCmtDelAck_ 1
        # RTX-SSTHRESH.
        $end set eCmtRtxPolicy_ 2
        $end set useCmtPF_ 0
    }
}
# Its receivers can loop for ever on answers to HEARTBEATs of their own.
[lindex $ends 1] set heartbeatInterval_ 0
foreach host $hosts end $ends { $ns multihome-attach-agent $host $end }
$ns connect [lindex $ends 0] [lindex $ends 1]
[lindex $ends 0] set-primary-destination $far(1)
set program [new Application/FTP]
$program attach-agent [lindex $ends 0]
$ns at 0.5 "$program send $key(file)"
$ns at $key(until) "flush $out; close $out; exit 0"
$ns run
