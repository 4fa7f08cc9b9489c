#!/bin/sh
# A zfs-fuse of its own, which no other one on the machine takes notice of: the process becomes it.
# usage: unshare --mount sh private_zfs_fuse.sh DIRECTORY ARC_MB [OPTION…]      (as root)
# Its commands run in it:  nsenter --target PID --mount --root …
# Only DIRECTORY and what is mounted beside / is shared with the machine; changes of all else are lost with it. An overlay
# root, because zfs-fuse removes /zfs-kstat when it ends, and with it the statistics of any other on the machine.
set -eu
directory=$1 arc=$2
shift 2
mount --make-rprivate /
sh "$(dirname "$0")/let_go.sh"

mounted=$(awk '$5 != "/" { print $5 }' /proc/self/mountinfo | sort)
new=$(mktemp -d) # is seen by nobody else once something is mounted there
mount -t tmpfs none "$new"
mkdir "$new/upper" "$new/work" "$new/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$new/upper,workdir=$new/work" "$new/root"
root=$new/root
bound=none
for at in $mounted; do
    case $at in "$bound" | "$bound"/*) continue ;; esac
    test -e "$root$at" || continue
    mount --rbind "$at" "$root$at"
    bound=$at
done
mount --rbind "$directory" "$root$directory"
mount -t tmpfs none "$root/run"
mkdir -p "$root/run/zfs" "$root/run/lock/zfs" "$root/var/lib/zfs"
mount -t tmpfs none "$root/var/lib/zfs"
mount --bind /dev/null "$root/etc/zfs/zfsrc"
exec chroot "$root" zfs-fuse --no-daemon --pidfile /run/zfs/pid --max-arc-size "$arc" --zfs-prefetch-disable "$@"
