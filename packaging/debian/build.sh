#!/bin/sh
# build.sh WHEEL [DIRECTORY]: a Debian package of zlang with the libraries that it needs, for the Python of this machine.
# Needs dpkg-deb, pip and the network. Debian has no or older versions of several libraries, so the package brings its own.
# EXTRAS are the extras of the wheel to include, "lsp,plots" unless it is set: EXTRAS=lsp sh build.sh WHEEL
set -eu

wheel=$1
directory=${2:-.}
version=$(basename "$wheel" | cut -d- -f2)
architecture=$(dpkg --print-architecture)
python=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
next=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % (sys.version_info[0], sys.version_info[1] + 1))')
package=$directory/zlang_${version}_$architecture.deb
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

# An environment of its own: what it brings is seen by nothing else.
own=/usr/lib/zlang
/usr/bin/python3 -m venv --without-pip "$root$own"
/usr/bin/python3 -m pip --python "$root$own/bin/python3" --disable-pip-version-check --quiet install --no-compile "${wheel}[${EXTRAS:-lsp,plots}]"
find "$root$own/bin" ! -type d ! -name zlang ! -name 'python*' -delete
sed -i "1s|.*|#!$own/bin/python3|" "$root$own/bin/zlang"
sed -i '/^command/d' "$root$own/pyvenv.cfg"
# Compiled here, because users cannot write to the installed folder.
/usr/bin/python3 -m compileall -q -s "$root" --invalidation-mode unchecked-hash "$root$own/lib"

mkdir -p "$root/usr/bin" "$root/usr/share/doc/zlang" "$root/usr/share/zsh/vendor-completions" "$root/DEBIAN"
ln -s ../lib/zlang/bin/zlang "$root/usr/bin/zlang"
mv "$root$own/share/man" "$root$own/share/bash-completion" "$root$own/share/fish" "$root/usr/share"
mv "$root$own/share/zsh/site-functions/_zlang" "$root/usr/share/zsh/vendor-completions"
rm -r "$root$own/share"
gzip -9n "$root/usr/share/man/man1/zlang.1"
cp "$root$own"/lib/python*/site-packages/zlang-*.dist-info/licenses/LICENSE "$root/usr/share/doc/zlang/copyright"

cat >"$root/DEBIAN/control" <<END
Package: zlang
Version: $version
Architecture: $architecture
Maintainer: The authors of zlang <zlang@localhost>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: libc6, libgcc-s1, libstdc++6, python3 (>= $python), python3 (<< $next), zlib1g
Recommends: fio, util-linux-extra
Suggests: sysstat, xfsprogs, btrfs-progs
Section: utils
Priority: optional
Description: small declarative language for storage experiments
 zlang checks a program that describes hardware, file systems and workloads,
 expands it into an ordered plan of shell and fio commands, carries it out,
 and answers SQL queries about the results.
END
# Where root has used zlang, it has kept the code that it loaded (zlang/cli/kept_code.py).
cat >"$root/DEBIAN/prerm" <<END
#!/bin/sh
rm -f $own/lib/python3*/site-packages/zlang/cli/__pycache__/kept_code.*.bin
END
chmod 755 "$root/DEBIAN/prerm"
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
