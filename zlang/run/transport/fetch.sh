# fetch.sh: stays on a machine, and sends what lies in one directory of the run after the other: for each the hashes of its
# files, their sizes, then their bytes.
#
# First line: BYTES, then BYTES of the path of the run's folder; answered by `ready TOKEN` (agent.sh says why), whatever a
# login shell printed. Then a line for each directory, relative to that. Names that hold a backslash or a line's end are
# passed over, as in `zlang/run/hashes.py`. A directory that does not exist has no files.
# shellcheck shell=sh
set -u
LC_ALL=C CDPATH=''
export LC_ALL CDPATH
z_nl='
'
read -r z_bytes || exit 1
z_folder=$(dd bs="$z_bytes" count=1 iflag=fullblock 2>/dev/null; echo .)
z_folder=${z_folder%.}
z_of_nothing=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
z_files() { find . -xdev -type f ! -path '*\\*' ! -path "*$z_nl*" -exec "$@" {} +; }
# Sends all that a directory has, if that is little and no directory: `find` would cost as much as the three tools here.
# These are needed only for files that have something in them: each process costs more than the rest.
z_send() { # NAMES
  [ $# -lt 200 ] || return 1
  z_hashes='' z_sizes=''
  for z_each; do
    shift
    case $z_each in *\\* | *"$z_nl"*) continue ;; esac
    if [ -L "$z_each" ]; then
      :
    elif [ -d "$z_each" ]; then
      return 1
    elif [ -s "$z_each" ] && [ -f "$z_each" ]; then
      set -- "$@" "$z_each"
    elif [ -f "$z_each" ]; then
      z_hashes="$z_hashes$z_of_nothing  $z_each$z_nl" z_sizes="${z_sizes}0 $z_each$z_nl"
    fi
  done
  if [ $# -eq 0 ]; then
    printf '%s--\n%s--\n--\n' "$z_hashes" "$z_sizes"
  else
    printf %s "$z_hashes"
    sha256sum -- "$@"
    printf -- '--\n%s' "$z_sizes"
    wc -c -- "$@"
    echo --
    cat -- "$@"
    echo --
  fi
}
printf '\nready %s\n' "${z_token?}"
exec 2>/dev/null
while read -r z_out; do
  if cd -P -- "$z_folder/$z_out"; then
    if ! z_send ./* ./.[!.]* ./..?*; then
      z_files sha256sum --
      echo --
      z_files wc -c --
      echo --
      z_files cat --
      echo --
    fi
    cd / # where it stays it would be in the way of what removes it
  else
    printf -- '--\n--\n--\n'
  fi
done
