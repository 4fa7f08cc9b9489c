#!/bin/sh
# hosts.sh: several hosts on one machine, for tests of what zlang does over ssh. Needs root.
#
# A host is a set of namespaces (network, mount, UTS, IPC, PID) with its own init, sshd, host key, host name, boot id,
# root file system (an overlay over /) and disk (ext4 on a file, mounted at /data). All share /shared, and hang on a bridge
# in the namespace "hub", which leads nowhere else. The coordinator runs in the hub.
#
#   hosts.sh up N [disk=SIZE]
#   hosts.sh down                  end all processes in these namespaces, and remove everything
#   hosts.sh status                list the hosts, and the number of their processes
#   hosts.sh hub COMMAND...        run a command in the hub
#   hosts.sh exec HOST COMMAND...  run a command in a host, without ssh
#   hosts.sh cut HOST              take the link of a host down; `join` brings it up again
#   hosts.sh killsshd HOST         end all sshd processes of a host; `startsshd` starts one
#   hosts.sh stall HOST            stop all processes of a host; `continue` lets them go on
#   hosts.sh crash HOST            end a host at once; `boot` starts it again: its disk is kept, its boot id is new
#   hosts.sh rekey HOST            give a host another host key; the second time, its first one
#
# BED is the state directory, and the prefix of the namespaces is its last part. `ssh -F $BED/config host1` works in the hub.
set -u
BED=${BED:?a directory of this script\'s own}
NAME=${BED##*/}
NET=10.66.0
SELF=$(readlink -f "$0")

die() { printf 'hosts.sh: %s\n' "$*" >&2; exit 1; }
number() { echo "${1#host}"; }
require_host() { case $1 in host[0-9]*) [ -d "$BED/$1" ] || die "unknown host: $1" ;; *) die "unknown host: $1" ;; esac; }
namespace() { echo "/run/netns/$NAME-$1"; }

# The init of a host is the only child of its `unshare`, and lives in the host's network namespace.
init_of() {
  pid=$(cat "$BED/$1/pid" 2>/dev/null) || return 1
  child=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null) || return 1
  child=${child%% *}
  [ -n "$child" ] && [ "$(stat -Lc %i "/proc/$child/ns/net")" = "$(stat -Lc %i "$(namespace "$1")")" ] && echo "$child"
}

inside() {
  host=$1
  shift
  pid=$(init_of "$host") || die "$host is down"
  exec nsenter --target "$pid" --mount --uts --ipc --net --pid --root --wdns=/root "$@"
}

# Runs in the new namespaces as process 1 of the host.
pid1() {
  host=$1 state=$BED/$1 root=$BED/$1/root
  set -e
  mount --make-rprivate /
  hostname "$host"
  mkdir -p "$state/over" "$root"
  mount -t tmpfs -o size=2g,mode=755 bed "$state/over"
  mkdir "$state/over/up" "$state/over/work"
  mount -t overlay -o "lowerdir=/,upperdir=$state/over/up,workdir=$state/over/work" overlay "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
  mount -t tmpfs -o mode=1777 tmp "$root/tmp"
  mount -t tmpfs -o mode=755 run "$root/run"
  mkdir -p "$root/run/bed" "$root/run/sshd" "$root/run/lock" "$root/data" "$root/shared"
  mount --bind "$BED/shared" "$root/shared"
  mount --bind "$state" "$root/run/bed"
  cat /proc/sys/kernel/random/uuid >"$root/run/boot_id"
  mount --bind "$root/run/boot_id" "$root/proc/sys/kernel/random/boot_id"
  # A detached loop device goes when its file system is unmounted, so with this namespace.
  device=$(losetup --find --show --direct-io=on "$state/disk.img")
  mount "$device" "$root/data"
  losetup --detach "$device"
  cp "$BED/etc-hosts" "$root/etc/hosts"
  echo "$host" >"$root/etc/hostname"
  : >"$root/root/.bashrc"
  : >"$root/root/.profile"
  ip link set lo up
  mkdir "$root/oldroot"
  cd "$root"
  pivot_root . oldroot
  umount -l /oldroot
  rmdir /oldroot
  cd /
  set +e
  rm -f /run/bed/sshd.pid
  /usr/sbin/sshd -f /run/bed/sshd_config -E /run/bed/sshd.log
  while :; do sleep 2147483 & wait; done # reaps orphans
}

boot() {
  require_host "$1"
  if init_of "$1" >/dev/null; then die "$1 is up"; fi
  rm -f "$BED/$1/sshd.pid"
  setsid nsenter --net="$(namespace "$1")" unshare --mount --uts --ipc --pid --fork --kill-child \
    env -i PATH="$PATH" HOME=/root BED="$BED" sh "$SELF" pid1 "$1" </dev/null >"$BED/$1/init.log" 2>&1 9>&- &
  echo $! >"$BED/$1/pid"
}

await() { # sshd writes its PID file once it listens
  tries=0
  while [ ! -s "$BED/$1/sshd.pid" ]; do
    tries=$((tries + 1))
    if [ $tries -gt 3000 ]; then
      cat "$BED/$1/init.log" "$BED/$1/sshd.log" >&2
      die "$1 does not start"
    fi
    sleep 0.01
  done
}

crash() {
  if pid=$(init_of "$1"); then
    outer=$(cat "$BED/$1/pid")
    kill -KILL "$pid" # the kernel ends the whole PID namespace
    kill -CONT "$outer" # it may have been stopped, and has to see that
    while [ -e "/proc/$outer" ] && [ "$(cut -d' ' -f3 "/proc/$outer/stat" 2>/dev/null)" != Z ]; do sleep 0.01; done
  fi
  rm -f "$BED/$1/pid" "$BED/$1/sshd.pid"
}

write_sshd_config() { # HOST NUMBER
  cat >"$BED/$1/sshd_config" <<-X
	ListenAddress $NET.$(($2 + 10))
	HostKey /run/bed/hostkey
	PidFile /run/bed/sshd.pid
	AuthorizedKeysFile /run/bed/authorized
	StrictModes no
	UsePAM no
	UseDNS no
	PasswordAuthentication no
	PermitRootLogin prohibit-password
	MaxStartups 200
	Subsystem sftp internal-sftp
	X
}

up() {
  count=$1 disk=256M
  shift
  case $count in '' | *[!0-9]*) die "up N" ;; esac
  for option; do
    case $option in
      disk=*) disk=${option#*=} ;;
      *) die "unknown option: $option" ;;
    esac
  done
  [ ! -e "$BED" ] || die "$BED exists"
  mkdir -m 711 "$BED"
  mkdir -m 755 "$BED/shared"
  : >"$BED/made-by-hosts.sh"
  trap 'down; exit 1' INT TERM HUP
  ssh-keygen -q -t ed25519 -N '' -C bed -f "$BED/key"
  ip netns add "$NAME-hub"
  ip -n "$NAME-hub" -batch - <<-X || die "no bridge"
	link set lo up
	link add br0 type bridge forward_delay 0
	link set br0 up
	address add $NET.1/24 dev br0
	X
  echo "127.0.0.1 localhost" >"$BED/etc-hosts"
  cat >"$BED/config" <<-X
	Host host*
	  User root
	  IdentityFile $BED/key
	  IdentitiesOnly yes
	  UserKnownHostsFile $BED/known_hosts
	  GlobalKnownHostsFile /dev/null
	X
  for i in $(seq "$count"); do
    host=host$i
    mkdir "$BED/$host"
    echo "$NET.$((i + 10)) $host" >>"$BED/etc-hosts"
    printf 'Host %s\n  HostName %s.%d\n' "$host" "$NET" $((i + 10)) >>"$BED/config"
    write_sshd_config "$host" "$i"
    ssh-keygen -q -t ed25519 -N '' -C "$host" -f "$BED/$host/hostkey"
    cp "$BED/key.pub" "$BED/$host/authorized"
    truncate -s "$disk" "$BED/$host/disk.img"
    mkfs.ext4 -q -F -L "$host" "$BED/$host/disk.img"
    ip netns add "$NAME-$host"
    ip link add name "p$i" netns "$NAME-hub" type veth peer name eth0 netns "$NAME-$host"
    ip -n "$NAME-hub" -batch - <<-X
	link set p$i master br0
	link set p$i up
	X
    ip -n "$NAME-$host" -batch - <<-X
	link set lo up
	link set eth0 up
	address add $NET.$((i + 10))/24 dev eth0
	X
    printf '%s.%d %s\n' $NET $((i + 10)) "$(cut -d' ' -f1,2 "$BED/$host/hostkey.pub")" >>"$BED/known_hosts"
    boot "$host"
  done
  for i in $(seq "$count"); do await "host$i"; done
  trap - INT TERM HUP
}

down() {
  [ -e "$BED/made-by-hosts.sh" ] || return 0
  for state in "$BED"/host*; do
    [ ! -d "$state" ] || crash "${state##*/}"
  done
  for file in /run/netns/"$NAME"-hub /run/netns/"$NAME"-host*; do
    [ -e "$file" ] || continue
    for pid in $(ip netns pids "${file##*/}"); do kill -KILL "$pid" 2>/dev/null; done # namespaces of this bed only
    ip netns del "${file##*/}"
  done
  rm -rf --one-file-system "$BED"
}

signal_all() { # SIGNAL HOST
  for pid in $(ip netns pids "$NAME-$2"); do kill "-$1" "$pid" 2>/dev/null || :; done # it may have ended meanwhile
}

verb=${1:-help}
[ $# -eq 0 ] || shift
case $verb in
  up) up "$@" ;;
  down) down ;;
  pid1) pid1 "$1" ;;
  hub) exec nsenter --net="$(namespace hub)" "$@" ;;
  status)
    for state in "$BED"/host*; do
      if init_of "${state##*/}" >/dev/null; then
        echo "${state##*/} up $(ip netns pids "$NAME-${state##*/}" | wc -l)"
      else
        echo "${state##*/} down"
      fi
    done
    ;;
  exec | cut | join | killsshd | startsshd | stall | continue | crash | boot | rekey)
    require_host "${1:-}"
    case $verb in
      exec) inside "$@" ;;
      cut) ip -n "$NAME-hub" link set "p$(number "$1")" down ;;
      join) ip -n "$NAME-hub" link set "p$(number "$1")" up ;;
      killsshd)
        for pid in $(ip netns pids "$NAME-$1"); do
          if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = sshd ]; then kill -KILL "$pid" 2>/dev/null; fi
        done
        rm -f "$BED/$1/sshd.pid"
        ;;
      startsshd) inside "$1" /usr/sbin/sshd -f /run/bed/sshd_config -E /run/bed/sshd.log ;;
      stall) signal_all STOP "$1" ;;
      continue) signal_all CONT "$1" ;;
      crash) crash "$1" ;;
      boot) boot "$1" && await "$1" ;;
      rekey)
        for file in hostkey hostkey.pub; do
          if [ -e "$BED/$1/$file.old" ]; then mv "$BED/$1/$file.old" "$BED/$1/$file"; else mv "$BED/$1/$file" "$BED/$1/$file.old"; fi
        done
        [ -e "$BED/$1/hostkey" ] || ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$BED/$1/hostkey"
        pid=$(cat "$BED/$1/sshd.pid")
        rm -f "$BED/$1/sshd.pid"
        (inside "$1" kill -HUP "$pid")
        await "$1"
        ;;
    esac
    ;;
  *)
    sed -n '2,/^set -u/{/^#/s/^# \{0,1\}//p}' "$SELF"
    exit 2
    ;;
esac
