
# ---- Processes of a run: for emitted scripts, and for the agent on another machine ----

# fio's workers call setsid(): neither group nor parent finds them, but what they inherited in their environment does.
# Without arguments: all of the run $z_run; with two: those of step $2 in directory $1. Only Linux lets us look.
# shellcheck shell=sh disable=SC2086,SC2154
z_strays() {
  z_found_pids=
  [ -r /proc/self/environ ] || return 1
  z_files=$(grep -lsxz "ZLANG_RUN=$z_run" /proc/[0-9]*/environ)
  if [ -n "$z_files" ] && [ $# -gt 0 ]; then
    z_files=$(grep -lsz "/$z_run/$1\$" $z_files)
    [ -z "$z_files" ] || z_files=$(grep -lsxz "ZLANG_STEP=$2" $z_files)
  fi
  for z_each in $z_files; do
    z_each=${z_each#/proc/}
    z_found_pids="$z_found_pids ${z_each%/environ}"
  done
  [ -n "$z_found_pids" ]
}
