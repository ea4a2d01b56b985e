# For scenarios about the write guard: devices over blank files of their own, each filled or used in its own way. They are tried side
# by side, since most of the time that `narrows guard` takes it waits for counters of the device to stay as they are.
guard_place=/tmp/guard
guard_kinds=0
guard_tried=
guard_devices=
mkdir -p $guard_place
rm -f $guard_place/*.complaint

complain() { printf '"%s: %s"\n' "$kind" "$(printf %s "$*" | tr '"\\\n' "'/ ")" >>"$guard_place/$kind.complaint"; }

# device KIND MIB: makes $device over the blank file $image.
device() {
    kind=$1
    image=$guard_place/$kind
    truncate -s "${2}M" "$image"
    device=$(losetup -f)
    losetup "$device" "$image"
    guard_devices="$guard_devices $device"
}

# tried FUNCTION ARGUMENT…: calls the function beside all that follows, until `settled`.
tried() {
    guard_kinds=$((guard_kinds + 1))
    sync
    "$@" &
    guard_tried="$guard_tried $!"
}

# guarded STATUS TARGET: what narrows says of the target ends with this status, is in $guard_out, and no byte of $image changes.
guarded() {
    guard_out=$guard_place/$kind.$guard_kinds.out
    guard_before=$(fingerprint "$image")
    guard_status=0
    timeout 60 narrows guard "$2" --i-own "$image" --json >"$guard_out" 2>&1 || guard_status=$?
    [ "$guard_status" = "$1" ] || complain "exit status $guard_status"
    [ "$guard_before" = "$(fingerprint "$image")" ] || complain "bytes changed"
}

says_why() {
    guarded 1 "$1"
    grep -q -- "$2" "$guard_out" || complain "does not say $2: $(head -c 600 "$guard_out")"
}

# refused TARGET WORD: narrows refuses and says WORD.
refused() { tried says_why "$1" "$2"; }

# free: $device, which nobody uses, is free, whatever others are used for.
free() { tried guarded 0 "$device"; }

# settled: waits for all that is tried.
settled() {
    for guard_process in $guard_tried; do wait "$guard_process" || true; done
    guard_tried=
}

# detached: nothing of the devices is left.
detached() {
    for guard_device in $guard_devices; do losetup -d "$guard_device"; done
    guard_devices=
    find $guard_place -type f ! -name '*.complaint' -exec rm {} +
}

# holds KIND MIB WORD SNIPPET: what the snippet puts on a device is named.
holds() {
    device "$1" "$2"
    (eval "$4") >$guard_place/fill.out 2>&1 </dev/null || complain "cannot be made: $(tail -n 1 $guard_place/fill.out)"
    refused "$device" "$3"
}

# report: prints how many were tried and what was wrong, in JSON, and fails if anything was.
report() {
    printf '{"kinds": %d, "complaints": [%s]}\n' "$guard_kinds" "$(cat $guard_place/*.complaint 2>/dev/null | paste -s -d ,)"
    ! ls $guard_place/*.complaint >/dev/null 2>&1
}
