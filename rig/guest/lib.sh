# Functions for the shell snippets of scenarios. Every snippet has sourced this file and the names of the drives.

# name KEY VALUE: makes $KEY known to later snippets and {KEY} to expectations.
name() {
    printf '%s=%s\n' "$1" "$2" >>/result/names
    eval "$1=\$2"
}

# fio_rate TARGET [FIO OPTIONS]: prints the rate of sequential 1 MiB direct reads in bytes per second.
fio_rate() {
    fio_target=$1
    shift
    fio --name=reference --filename="$fio_target" --rw=read --bs=1M --iodepth=8 --ioengine=io_uring --direct=1 \
        --readonly --time_based --ramp_time=1 --runtime=5 --output-format=json "$@" >/result/fio.json
    awk -F '[:,]' '/"bw_bytes"/ { gsub(/ /, "", $2); print $2; exit }' /result/fio.json
}

# mapped NAME: makes /dev/mapper/NAME a link, as udev does, and prints the kernel name of the mapping.
mapped() {
    for mapping in /sys/block/dm-*; do
        if [ "$(cat "$mapping/dm/name")" = "$1" ]; then
            ln -sf "../${mapping##*/}" "/dev/mapper/$1"
            echo "${mapping##*/}"
            return 0
        fi
    done
    return 1
}

# wait_for SECONDS COMMAND…: repeats the command until it succeeds.
wait_for() {
    wait_ticks=$(($1 * 10))
    shift
    until "$@" >/dev/null 2>&1; do
        wait_ticks=$((wait_ticks - 1))
        if [ "$wait_ticks" -le 0 ]; then
            echo "rig: gave up waiting for: $*" >&2
            return 1
        fi
        sleep 0.1
    done
}

# pretend FILE TEXT: binds a file with this text over a kernel attribute, so that it reads as TEXT.
pretend() {
    pretend_file=$(mktemp /tmp/pretend.XXXXXX)
    printf '%s\n' "$2" >"$pretend_file"
    mount --bind "$pretend_file" "$1"
}

# listing DIRECTORY: prints names, sizes and times of everything below it.
listing() {
    find "$1" -xdev -exec stat -c '%n %s %Y' {} + 2>/dev/null | sort
}

# findings_of COMMAND…: prints the exit status of a command, and which findings its report has, and about what. Rates and
# counters move, these do not.
findings_of() {
    findings_status=0
    "$@" --json >/tmp/findings.json 2>/dev/null || findings_status=$?
    echo "exit status $findings_status"
    sed -n '/^  "findings": \[/,/^  \]/p' /tmp/findings.json | grep -E '^      "(code|severity|hop|subject|confidence)":' || true
}

# record_agrees: fails unless a record of this machine gives the same answer as the machine.
record_agrees() {
    findings_of narrows check >/tmp/findings.live
    narrows snapshot --no-redact -o /tmp/round-trip.tar.zst >/dev/null 2>/tmp/round-trip.stderr || cat /tmp/round-trip.stderr
    findings_of narrows check --from /tmp/round-trip.tar.zst >/tmp/findings.record
    diff /tmp/findings.live /tmp/findings.record
    rm -f /tmp/round-trip.tar.zst
}

if [ -e /result/names ]; then . /result/names; fi
