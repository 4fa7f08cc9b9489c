# fetch.sh: sends the files of one directory to the coordinator: their hashes, their sizes, then their bytes.
#
# First line: BYTES, then BYTES of the directory's path. Names that hold a backslash or a line's end are passed over, as in
# `zlang/run/hashes.py`. A directory that does not exist has no files.
# shellcheck shell=sh
set -u
LC_ALL=C
export LC_ALL
z_nl='
'
read -r z_bytes || exit 1
z_directory=$(head -c "$z_bytes"; echo .)
z_directory=${z_directory%.}
z_files() { find . -xdev -type f ! -path '*\\*' ! -path "*$z_nl*" -exec "$@" {} +; }
if cd -P -- "$z_directory" 2>/dev/null; then
  z_files sha256sum --
  echo --
  z_files wc -c --
  echo --
  z_files cat --
else
  printf -- '--\n--\n'
fi
