"""Check that the wheel and the Debian package are complete and that an installed zlang writes nothing beside itself."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import LET_GO

ROOT = Path(__file__).parents[1]
COPIED = ("zlang", "stdlib", "examples", "packaging", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build a wheel and a source archive; return them by suffix."""
    return _build(tmp_path_factory.mktemp("source"), "1")


@pytest.fixture(scope="module")
def wheel(built: dict[str, Path]) -> Path:
    return built[".whl"]


def _build(source: Path, seed: str, *, private: bool = False) -> dict[str, Path]:
    """Build from a copy of the sources without generated files."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.bin", "__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    if private:
        for path in source.rglob("*"):
            path.chmod(path.stat().st_mode & 0o700)
            os.utime(path, (1e9, 1e9))
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(source / "dist")]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        command,
        cwd=source,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        umask=0o077 if private else -1,
    )
    assert done.returncode == 0, done.stderr
    return {path.suffix: path for path in (source / "dist").iterdir()}


def test_builds_are_reproducible(built: dict[str, Path], tmp_path: Path) -> None:
    """Builds in another directory, from files of another age that only their owner may read, are the same, too."""
    again = _build(tmp_path, "2", private=True)
    assert built.keys() == again.keys() == {".whl", ".gz"}
    assert {end: path.read_bytes() for end, path in built.items()} == {
        end: path.read_bytes() for end, path in again.items()
    }


def test_the_wheel_installs_the_man_page_and_completions(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shared = {name.partition("/data/")[2] for name in archive.namelist() if ".data/" in name}
    assert shared == {
        "share/man/man1/zlang.1",
        "share/bash-completion/completions/zlang",
        "share/zsh/site-functions/_zlang",
        "share/fish/vendor_completions.d/zlang.fish",
    }


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Unpack the wheel as pip does, in a directory that nobody may write to."""
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*command, str(wheel)], check=True, timeout=300)
    _allow_writing(site, allowed=False)
    yield site
    _allow_writing(site, allowed=True)


def _allow_writing(top: Path, *, allowed: bool) -> None:
    for path in (top, *top.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode | stat.S_IWUSR if allowed else mode & ~0o222)


def _zlang(site: Path, directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command without write access to it: root gives up its power over file modes.

    The last line of its standard error says whether the tables had to be made.
    """
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    program = (
        "import sys; from zlang.cli.app import guarded; import zlang; assert 'site' in zlang.__file__; "
        "code = guarded(sys.argv[1:]); print('lark' in sys.modules, file=sys.stderr); sys.exit(code)"
    )
    return subprocess.run(
        [*powerless, sys.executable, "-c", program, *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_wheel_holds_the_package_its_tables_the_library_and_the_examples(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry_points = next(name for name in names if name.endswith("entry_points.txt"))
        assert b"zlang = zlang.cli.app:main" in archive.read(entry_points)
    expected = {"zlang/syntax/tables.bin", "zlang/check/library.bin"}
    for folder in ("stdlib", "examples"):
        expected |= {f"zlang/{folder}/{path.name}" for path in (ROOT / folder).glob("*.zexp")}
    for path in (ROOT / "zlang").rglob("*"):
        if path.is_file() and path.suffix not in {".pyc", ".bin"} and not path.name.startswith("."):
            expected.add(path.relative_to(ROOT).as_posix())
    assert {name for name in names if ".dist-info/" not in name and ".data/" not in name} == expected
    assert any(name.endswith("/LICENSE") for name in names)


def test_a_read_only_installation_works_and_is_unchanged(installed: Path, tmp_path: Path) -> None:
    def state() -> dict[Path, tuple[int, int]]:
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in installed.rglob("*")}

    before = state()
    example = str(installed / "zlang/examples/quickstart.zexp")
    checked = _zlang(installed, tmp_path, "check", example)
    assert (checked.returncode, checked.stderr) == (0, "False\n")
    assert "24 trials" in checked.stdout
    listed = _zlang(installed, tmp_path, "kinds", "file")
    assert (listed.returncode, listed.stderr) == (0, "False\n")
    assert state() == before


def test_the_installed_command_ends_with_1_when_a_program_is_wrong(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.zexp").write_text("experiment unclosed {\n")
    checked = _zlang(installed, tmp_path, "check", "wrong.zexp")
    assert checked.returncode == 1
    assert "never closed" in checked.stderr


@pytest.mark.parametrize("kept", ["zlang/syntax/tables.bin", "zlang/check/library.bin"])
def test_an_installed_zlang_whose_kept_form_is_of_another_time_still_works(
    installed: Path, tmp_path: Path, kept: str
) -> None:
    """The sources may have changed in a checkout that belongs to another user."""
    path = installed / kept
    content = path.read_bytes()
    path.parent.chmod(0o755)
    path.chmod(0o644)
    try:
        path.write_bytes(b"")
        path.chmod(0o444)
        path.parent.chmod(0o555)
        checked = _zlang(installed, tmp_path, "check", str(installed / "zlang/examples/quickstart.zexp"))
    finally:
        path.parent.chmod(0o755)
        path.chmod(0o644)
        path.write_bytes(content)
        path.chmod(0o444)
        path.parent.chmod(0o555)
    assert checked.returncode == 0, checked.stderr
    assert "24 trials" in checked.stdout


# --- the Debian package


_IN_A_COPY = """
mount --make-rprivate /
sh "$4"
mount -t tmpfs -o size=3g,mode=755 tmpfs "$1"
mkdir "$1/up" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" overlay "$1/root"
mount -t proc proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/root/tmp"
cp "$2" "$1/root/tmp/zlang.deb"
exec chroot "$1/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 sh -euc "$3"
"""
_USED = """
cd /tmp
dpkg --no-triggers --force-unsafe-io --install zlang.deb >/dev/null
zlang --version
cp /usr/lib/zlang/lib/python3*/site-packages/zlang/examples/quickstart.zexp .
zlang check quickstart.zexp
test -e /usr/lib/zlang/lib/python3*/site-packages/zlang/cli/__pycache__/kept_code.*.bin
find /usr/lib/zlang | sort >before
setpriv --reuid=65534 --regid=65534 --clear-groups zlang plan quickstart.zexp
find /usr/lib/zlang | sort >after
cmp before after
echo libraries
find /usr/lib/zlang -type f -name '*.so*' -exec ldd {} +
dpkg --no-triggers --force-unsafe-io --remove zlang >/dev/null
test ! -e /usr/lib/zlang && test ! -L /usr/bin/zlang
"""


@pytest.fixture(scope="module")
def package(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package, uncompressed and without the plotting libraries: each would take minutes."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("there is no dpkg-deb")
    at = tmp_path_factory.mktemp("debian")
    variables = {"EXTRAS": "lsp", "DPKG_DEB_COMPRESSOR_TYPE": "none", "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    command = ["sh", str(ROOT / "packaging/debian/build.sh"), str(wheel), str(at)]
    subprocess.run(command, env={**os.environ, **variables}, check=True, timeout=900)
    (package,) = at.iterdir()
    return package


def test_contents_of_the_debian_package(package: Path) -> None:
    listed = subprocess.run(["dpkg-deb", "--contents", package], check=True, capture_output=True, text=True).stdout
    names: dict[str, tuple[str, str]] = {}
    for line in listed.splitlines():
        mode, owner, _, _, _, name, *_ = line.split(maxsplit=6)
        names[name.removeprefix("./")] = mode, owner
    assert {owner for _, owner in names.values()} == {"root/root"}
    permitted = re.compile(r"l.{9}|[-d][rwx-]{7}-[x-]")  # nothing that others can write to, or that runs as its owner
    assert not [name for name, (mode, _) in names.items() if not permitted.fullmatch(mode)]
    outside = {name for name in names if not name.startswith("usr/lib/zlang/") and name[-1:] not in {"", "/"}}
    assert outside == {
        "usr/bin/zlang",
        "usr/share/bash-completion/completions/zlang",
        "usr/share/doc/zlang/copyright",
        "usr/share/fish/vendor_completions.d/zlang.fish",
        "usr/share/man/man1/zlang.1.gz",
        "usr/share/zsh/vendor-completions/_zlang",
    }


def test_the_debian_package_is_installed_used_by_everybody_and_removed(package: Path, tmp_path: Path) -> None:
    """Every system library that it loads must belong to a package that it depends on."""
    if os.geteuid() != 0:
        pytest.skip("only root installs packages")
    line = ["unshare", "--mount", "sh", "-euc", _IN_A_COPY, "sh", str(tmp_path), str(package), _USED, str(LET_GO)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    used, _, loaded = done.stdout.partition("\nlibraries\n")
    assert re.match(r"zlang \d+\.\d+\.\d+\n", used)
    assert "24 trials" in used
    own = {Path(name).name for name in re.findall(r"^(\S+):$", loaded, re.MULTILINE)}
    assert set(re.findall(r"(\S+) => not found", loaded)) <= own  # which others of them load first
    paths = {match[1] for match in re.finditer(r"=> (/(?!usr/lib/zlang/)\S+)", loaded)}
    owners = {_package_of(path) for path in paths}
    field = subprocess.run(["dpkg-deb", "--field", package, "Depends"], check=True, capture_output=True, text=True)
    assert owners <= {word.split()[0] for word in field.stdout.split(",")}
    assert "libc6" in owners


def _package_of(path: str) -> str:
    """Return the package of a library; dpkg may know it by its path before /lib became a link to /usr/lib."""
    command = ["dpkg-query", "--search", f"*/{Path(path).name}"]
    owners = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = {line.partition(":")[0] for line in owners.splitlines() if _is_same(line.rpartition(": ")[2], path)}
    (name,) = names
    return name


def _is_same(path: str, other: str) -> bool:
    return Path(path).exists() and Path(path).samefile(other)
