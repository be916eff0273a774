#!/usr/bin/env bash
# A study as a job array of a Slurm of one node, which this script starts and stops: `study submit` submits eight units and
# the job that joins them; the tables have to be those of a run without Slurm, byte for byte. Needs root and Debian's
# slurm-wlm; without them it is SKIPPED. POLYPATH_PROGRAMS names a folder with a program that is built already.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/lib.sh

UNITS=8

[[ $(id -u) == 0 ]] || skip slurm "not root: slurmd has to start jobs"
for program in slurmctld slurmd sbatch squeue; do
    have "$program" || skip slurm "$program was not found; Debian has it in slurm-wlm"
done

build_programs
polypath=$(cd "$POLYPATH_PROGRAMS" && pwd)/polypath

place=$(mktemp -d)
pids=()
finish() {
    for pid in "${pids[@]}"; do
        kill "$pid" 2> /dev/null || true
    done
    wait 2> /dev/null || true
    rm -rf "$place"
}
trap finish EXIT

# Two ports that nobody has.
read -r controller node < <(python3 -c '
import socket
sockets = [socket.socket() for _ in range(2)]
for one in sockets:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets))')

mkdir "$place/state" "$place/spool"
cat > "$place/slurm.conf" << CONF
ClusterName=polypath
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$controller
SlurmdPort=$node
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MinJobAge=600
ReturnToService=2
NodeName=$(hostname) NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
# More processors than a small machine has, so that units run at the same time.
echo "SlurmdParameters=config_overrides" >> "$place/slurm.conf"
export SLURM_CONF=$place/slurm.conf

slurmctld -D > "$place/slurmctld.out" 2>&1 &
pids+=($!)
slurmd -D > "$place/slurmd.out" 2>&1 &
pids+=($!)

logs() { tail -n 20 "$place"/*.out "$place"/*.log "$place"/out/slurm/*.log 2> /dev/null || true; }

# Waits until a command succeeds: wait_for SECONDS WHAT COMMAND...
wait_for() {
    local seconds=$1 what=$2
    shift 2
    local end=$((SECONDS + seconds))
    until "$@"; do
        if ((SECONDS >= end)); then
            logs
            die "$what did not happen within $seconds s"
        fi
        sleep 0.5
    done
}
node_is_idle() { [[ $(sinfo --noheader --format %t 2> /dev/null) == idle ]]; }
wait_for 60 "the start of Slurm" node_is_idle

study=studies/asymmetry.toml
"$polypath" study run "$study" --quick --out "$place/alone" > /dev/null
"$polypath" study submit "$study" --quick --out "$place/out" --slurm --tasks "$UNITS" --time 5
no_job_is_left() { [[ -z $(squeue --noheader 2> /dev/null) ]]; }
wait_for 240 "the end of all jobs" no_job_is_left

"$polypath" study status "$place/out"
parts=$(find "$place/out/journal" -name "unit-*-of-$UNITS"_'*.jsonl' | wc -l)
[[ $parts == "$UNITS" ]] || { logs; die "$parts of $UNITS units wrote runs"; }
cmp "$place/alone/runs.parquet" "$place/out/runs.parquet" || { logs; die "the tables differ"; }
say "slurm: $UNITS units and their merge: runs.parquet is that of a run without Slurm"
