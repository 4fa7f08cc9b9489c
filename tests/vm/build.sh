#!/bin/sh
# build.sh CACHE [RELEASE]: a guest with kernel OpenZFS for the tests, from Debian's packages alone.
#
# RELEASE is 2.1 (bookworm) or 2.3 (bookworm-backports). Needs root, debootstrap, e2fsprogs and the network; takes about
# five minutes, most of them for compiling the modules, and 3 GB. What is built lies in CACHE and is kept until this
# script changes: CACHE/RELEASE/disk (an ext4 image), vmlinuz and initrd. Nothing stays mounted, nothing outside CACHE
# is written.
set -eu

cache=${1:?usage: build.sh CACHE [RELEASE]}
release=${2:-2.1}
case $release in
2.1) suite=bookworm ;;
2.3) suite=bookworm-backports ;;
*)
	echo "there is no release $release here: 2.1 or 2.3" >&2
	exit 2
	;;
esac
mirror=${MIRROR:-http://deb.debian.org/debian}
made=$cache/$release
let_go=$(dirname "$0")/../let_go.sh
stamp=$(cksum <"$0")
if test "$(cat "$made/stamp" 2>/dev/null)" = "$stamp"; then exit 0; fi
rm -rf --one-file-system "$made"
mkdir -p "$made"
root=$made/root

# Everything that is mounted is mounted in a mount namespace of its own, which ends with its command.
inside() {
	# shellcheck disable=SC2016
	unshare --mount --propagation private sh -c '
		root=$1
		sh "$2" # what others have mounted is not held on to
		shift 2
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount -t sysfs sysfs "$root/sys"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
	' inside "$root" "$let_go" "$@"
}

install() { inside apt-get -y -qq -o APT::Install-Recommends=0 -o APT::Sandbox::User=root install "$@"; }

{
	debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror"
	for each in bookworm bookworm-updates bookworm-backports; do
		echo "deb $mirror $each main contrib"
	done >"$root/etc/apt/sources.list"
	printf 'Package: src:zfs-linux\nPin: release n=%s\nPin-Priority: 990\n' $suite >"$root/etc/apt/preferences.d/zfs"
	printf 'path-exclude=/usr/share/%s/*\n' doc man info locale >"$root/etc/dpkg/dpkg.cfg.d/small"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service is started while packages are installed
	chmod +x "$root/usr/sbin/policy-rc.d"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	inside apt-get -qq update

	# The modules are compiled when zfs-dkms is installed, for the kernel whose headers are there.
	install initramfs-tools busybox zstd
	printf '%s\n' virtio_pci virtio_blk ext4 >>"$root/etc/initramfs-tools/modules"
	install linux-image-cloud-amd64 linux-headers-cloud-amd64
	install zfs-dkms zfsutils-linux
	install openssh-server fio procps iproute2 kmod udev util-linux e2fsprogs xfsprogs btrfs-progs \
		lvm2 mdadm dmsetup nfs-kernel-server nfs-common dash

	cat >"$root/sbin/guest" <<'INIT'
#!/bin/sh
# The first process: devices, network, sshd; the key comes with the kernel's command line.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc 2>/dev/null
mount -t sysfs sysfs /sys 2>/dev/null
mount -t devtmpfs dev /dev 2>/dev/null
mount -o remount,rw /
mkdir -p /dev/pts /dev/shm
mount -t devpts -o mode=620,gid=5 devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd /run/lock /run/rpcbind
for word in $(cat /proc/cmdline); do
	case $word in guest.key=*) key=${word#*=} ;; esac
done
/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add
udevadm settle
modprobe -a zfs loop
ip link set lo up
for interface in /sys/class/net/e*; do
	ip link set "${interface##*/}" up
	ip address add 10.0.2.15/24 dev "${interface##*/}"
done
mkdir -p -m 700 /root/.ssh
echo "ssh-ed25519 $key" >/root/.ssh/authorized_keys
/usr/sbin/sshd
echo ready >/dev/console
while :; do sleep 86400; done
INIT
	chmod +x "$root/sbin/guest"
	rm -f "$root"/etc/ssh/ssh_host_*
	inside ssh-keygen -A
	inside passwd -d root
	dpkg-query --admindir="$root/var/lib/dpkg" --show zfs-dkms linux-image-cloud-amd64 >"$made/version"
	cp "$root"/boot/vmlinuz-* "$made/vmlinuz"
	cp "$root"/boot/initrd.img-* "$made/initrd"
	inside apt-get clean
	rm -f "$root"/usr/bin/python3* # zfsutils-linux brings it, and no script of ours may need it
	rm -rf "$root"/usr/src/* "$root"/var/lib/apt/lists/* "$root"/var/lib/dkms "${root:?}"/boot/*
	truncate -s 3G "$made/disk"
	mke2fs -q -t ext4 -O ^has_journal -L guest -d "$root" "$made/disk"
} >"$made/log" 2>&1 </dev/null || {
	tail -n 30 "$made/log" >&2
	exit 1
}
rm -rf --one-file-system "$root"
echo "$stamp" >"$made/stamp"
