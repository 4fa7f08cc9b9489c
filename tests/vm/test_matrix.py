"""Test device states that only kernel modules cause, at moments of a script, and a failing device, in a guest."""

from __future__ import annotations

from command_line import Zlang
from vm.guest import Guest
from vm.test_scripts import START, bring_back, hand_over

FREE = ("stopped-array",)
"""States that others bring a device into before the script; it is refused then. `test_interlock.py` has the others."""
HELD = {"guard": ("pool", "array", "mapped"), "write": ("pool", "physical-volume")}
"""States that they try to bring a device into after its guard, and after the first write to it."""
NAMES = [*(f"{state}@start" for state in FREE), *(f"{state}@{at}" for at, states in HELD.items() for state in states)]
SIZE = 64
"""MiB of each device: a pool takes no less."""
PLACE = "/var/tmp/others"
PREPARE = f"""
set -e
mkdir -p {PLACE}
cd {PLACE}
for name in {" ".join(NAMES)}; do
  truncate -s {SIZE}M $name.image
  ln -s $(losetup --find --show $name.image) $name
done
cat >strike <<'END'
cd {PLACE}
name=${{2##*/}}
test "${{name#*@}}" = $1 || exit 0
device=$(readlink $name) number=${{name%@*}}-$1
if case $name in
  pool@*) zpool create -m none others-$number $device ;;
  array@*) mdadm --create /dev/md/others-$number --run --level=raid1 --bitmap=none -n 2 $device missing ;;
  stopped-array@*)
    mdadm --create /dev/md/others-$number --run --level=raid1 --bitmap=none -n 2 $device missing &&
    mdadm --stop /dev/md/others-$number ;;
  mapped@*) dmsetup create others-$number --table "0 65536 linear $device 0" ;;
  physical-volume@*) pvcreate $device ;;
esac >$name.said 2>&1; then touch $name.taken; else touch $name.denied; fi
END
for name in {" ".join(NAMES)}; do sh strike start $name; done
"""
REMOVE = f"""
cd {PLACE}
for name in $(zpool list -H -o name | grep others-); do zpool destroy $name; done
for each in /dev/md[0-9]*; do mdadm -q --stop $each; done
for name in $(dmsetup ls | grep -o '^others-[a-z-]*'); do dmsetup remove $name; done
for name in {" ".join(NAMES)}; do losetup --detach $(readlink $name); done
cd / && rm -r {PLACE}
exit 0
"""
CONTENT = f"""
cd {PLACE}
sync
for name in {" ".join(f"{state}@start" for state in FREE)}; do sha256sum $name.image; done
"""
PROGRAM = """
import disks

kind writes: workload {
  needs block as at
  writes = on
  run {
    sh \"\"\"
      sh PLACE/strike guard {at.id}
      dd if=/dev/urandom of={at.block} bs=65536 count=4 conv=notrunc,fsync status=none &&
      sh PLACE/strike write {at.id} &&
      dd if=/dev/urandom of={at.block} bs=65536 seek=4 count=4 conv=notrunc,fsync status=none
    \"\"\" { why = "write to it" }
  }
}
disk target { (id, serial) = DEVICES  size = SIZEMiB }
experiment one { on = target  run = writes {} }
"""


def carry_out(guest: Guest, zlang: Zlang, program: str) -> None:
    """Run the script, armed as it requires."""
    hand_over(guest, zlang, program)
    stderr = guest(START, check=False).stderr
    armed = stderr[stderr.index("ZLANG_ARM='") :].split("'")[1]
    done = guest(f"export ZLANG_ARM='{armed}' && {START}", check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    bring_back(guest, zlang)


def test_foreign_uses_are_denied_or_not_overwritten(guest: Guest, carried_out: Zlang) -> None:
    guest(PREPARE)
    try:
        before = guest(CONTENT).stdout
        devices = " | ".join(f'("{PLACE}/{name}", "{PLACE}/{name}.image")' for name in NAMES)
        program = PROGRAM.replace("PLACE", PLACE).replace("DEVICES", devices).replace("SIZE", str(SIZE))
        carry_out(guest, carried_out, program)
        outcomes = guest(f"cd {PLACE}; ls *.taken *.denied; cat *.said").stdout
        assert guest(CONTENT).stdout == before
    finally:
        guest(REMOVE)
    expected = {f"{name}.{'taken' if name.endswith('@start') else 'denied'}" for name in NAMES}
    assert {word for word in outcomes.split() if word.endswith((".taken", ".denied"))} == expected, outcomes
    rows = {str(row["id"]): row for row in carried_out.rows("select id, valid, why_not from all_trials")}
    assert rows.keys() == {f"{PLACE}/{name}" for name in NAMES}
    for name, row in rows.items():
        assert row["valid"] is not name.endswith("@start"), row
        assert row["valid"] or str(row["why_not"]).startswith("guard-target: "), row


WITH_ERRORS = """
import disks
import fio

disk bad { id = "/dev/mapper/others-bad"  serial = "others-of-this-test"  size = 40MiB }
fio writes { rw = write  bs = 64KiB  io_size = 1MiB  offset = 2MiB | 10MiB  end_fsync = on }
experiment errors { on = bad  run = writes }
"""


def test_a_disk_with_errors_fails_the_trials_that_meet_them(guest: Guest, carried_out: Zlang) -> None:
    """The sectors between 8 and 16 MiB can be neither read nor written; the run goes on, and leaves the disk blank."""
    guest(
        "truncate -s 40M /run/bad && device=$(losetup --find --show /run/bad) &&"
        ' printf "0 16384 linear $device 0\\n16384 16384 error\\n32768 49152 linear $device 32768\\n" |'
        " dmsetup create others-bad --uuid others-of-this-test && udevadm settle"
    )
    try:
        carry_out(guest, carried_out, WITH_ERRORS)
        rows = carried_out.rows('select "offset", valid, why_not from all_trials order by all')
        assert [(row["offset"], row["valid"]) for row in rows] == [(2 << 20, True), (10 << 20, False)], rows
        assert str(rows[1]["why_not"]).startswith("measure: fio: ")
        assert (
            guest("dd if=/dev/mapper/others-bad bs=1M count=1 status=none | tr -d '\\0' | wc -c").stdout.strip() == "0"
        )
    finally:
        guest("dmsetup remove others-bad; losetup --detach $(losetup -n -O NAME -j /run/bad); rm /run/bad")
