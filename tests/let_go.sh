#!/bin/sh
# Unmounts in this mount namespace what other tests have on loop devices or through FUSE: as long as it is mounted in any
# namespace its device is in use, and they cannot remove it.
# usage: unshare --mount sh -c 'sh let_go.sh [MOUNTPOINT] && …'      (as root; MOUNTPOINT stays)
set -eu
# A run mounts its own node of a loop device; btrfs and ZFS have no device number that could tell.
awk '/ - fuse| \/dev\/(loop|zlang)/ { print $5 }' /proc/self/mountinfo | sort -r | while read -r at; do
    test "$at" = "${1-}" || umount --lazy "$at"
done
