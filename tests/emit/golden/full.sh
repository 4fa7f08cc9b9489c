#!/bin/sh
# A test
#
# 5 trials; needs a POSIX shell with coreutils and util-linux, or busybox. Usage: sh plan.sh --help
# shellcheck disable=SC2016,SC2034,SC2154,SC2317
set -u
CDPATH=''
LC_ALL=C
ZLANG_LOOK=''
PATH=${PATH:-/bin:/usr/bin}
for z_place in /usr/local/sbin /usr/sbin /sbin; do
  case :$PATH: in *:$z_place:*) ;; *) PATH=$PATH:$z_place ;; esac
done
export CDPATH LC_ALL PATH ZLANG_LOOK
z_title='A test'
z_plan=c0ffee
z_part=''
z_word='sweep-it'
z_trials=5
z_of=5

# ---- How a plan is carried out. What is particular to this plan is at the end. ----
# All names of zlang begin with z_, so the commands find the user's variables unchanged.

z_say() { printf '%s\n' "$*" >&2; }

z_die() {
  z_say "$0: $*"
  exit 1
}

z_help() {
  printf '%s\n' \
    "$z_title" '' \
    "usage: sh $0 [--list] [RUNS_DIR]" '' \
    "Carries out $z_trials trials. What is measured is kept in a folder of its own in RUNS_DIR (./runs);" \
    'if such a folder of this very plan is there and not finished, the run goes on in it.' '' \
    '  --list      print the trials and do nothing' \
    '  -h, --help  print this' '' \
    'Ctrl-C stops the run and tidies up. Exit codes: 0 every trial was carried out, 1 some failed or the run' \
    'could not go on, 2 wrong usage, 130 Ctrl-C, 131 QUIT, 143 TERM.'
}

# ---- Time ----

z_pick_clock() {
  if [ -n "${EPOCHREALTIME:-}" ]; then
    z_clock=shell
  else
    case $(date +%N) in
      '' | *[!0-9]*) z_clock=seconds ;;
      *) z_clock='date' ;;
    esac
  fi
}

# The time by the wall clock (z_t) and by the monotonic clock (z_uptime), if the machine has one. Where date prints only
# whole seconds, the monotonic clock is not read, because the two would seem to disagree. On a busy machine, time passes
# between the two readings: z_apart is that time in hundredths of a second, if it is more than 10.
z_now() {
  z_read_uptime
  z_before=${z_uptime%.*}${z_uptime#*.}
  z_read_wall_clock
  z_read_uptime
  z_apart=
  [ -n "$z_uptime" ] || return 0
  z_apart=$((${z_uptime%.*}${z_uptime#*.} - z_before))
  [ "$z_apart" -gt 10 ] || z_apart=
}

# Ctrl-C also interrupts date or cksum if one of them is running: hence the second try, here and below.
z_read_wall_clock() {
  case $z_clock in
    shell)
      z_t=$EPOCHREALTIME
      z_t=${z_t%[.,]*}.${z_t#*[.,]}
      z_t=${z_t%???}
      ;;
    date)
      z_t=$(date +%s.%N) || z_t=$(date +%s.%N)
      z_t=${z_t%??????}
      ;;
    *) z_t=$(date +%s).000 || z_t=$(date +%s).000 ;;
  esac
}

z_read_uptime() {
  z_uptime=
  if [ "$z_clock" != seconds ] && [ -r /proc/uptime ]; then read -r z_uptime z_idle </proc/uptime; fi
}

# Milliseconds since some moment, for durations: by the monotonic clock, if the machine has one.
z_milliseconds() {
  if [ -r /proc/uptime ]; then
    read -r z_ms z_idle </proc/uptime
    z_ms=${z_ms%.*}${z_ms#*.}0
  else
    z_ms=${z_t%.*}${z_t#*.}
  fi
}

# ---- The journal ----

z_checksum() {
  printf '%s' "$1" >"$z_dir/.line" || return 1
  z_crc=$(cksum <"$z_dir/.line") || z_crc=$(cksum <"$z_dir/.line") || return 1
  z_crc=${z_crc%% *}
}

# Write an event, with the time z_t.
z_write() {
  [ -z "$z_lost" ] || return 0
  z_lines=$((z_lines + 1))
  z_line="{\"n\":$z_lines,\"t\":$z_t,${z_uptime:+\"up\":$z_uptime,}${z_apart:+\"apart\":${z_apart}e-2,}\"event\":$1"
  if ! z_checksum "$z_line" || ! printf '%s,"crc":%s}\n' "$z_line" "$z_crc" >>"$z_dir/journal.jsonl"; then z_lose; fi
}

# Write an event, and wait until it and all lines before it are on the disk.
z_write_through() {
  z_write "$1"
  [ -n "$z_lost" ] || sync "$z_dir/journal.jsonl" 2>/dev/null || sync
}

z_lose() {
  z_lost=1
  z_say "$0: cannot write in $z_dir; tidying up"
  z_tidying=1
  settle
  z_tear_down
  z_sweep
  z_say "the journal is intact: free some space, or repair the disk, and start this script again"
  exit 1
}

# The value of member $1 of z_line; values that zlang writes contain no commas and no quotes.
z_field() {
  z_value=${z_line#*"\"$1\":"}
  z_value=${z_value%%,*}
  z_value=${z_value#\"}
  z_value=${z_value%\"}
}

# The number of the last line of the journal: one of the last lines has it, because at most one is incomplete.
z_count_lines() {
  z_lines=0
  tail -n 3 "$z_dir/journal.jsonl" | tr '\0' '?' >"$z_dir/.done/lines"
  while IFS= read -r z_line; do
    case $z_line in
      '{"n":'*) z_believed || continue ;;
      *) continue ;;
    esac
    z_field n
    case $z_value in
      '' | *[!0-9]* | ???????????????*) ;;
      *) if [ "$z_value" -gt "$z_lines" ]; then z_lines=$z_value; fi ;;
    esac
  done <"$z_dir/.done/lines"
  if [ "$z_lines" -eq 0 ]; then z_lines=$(grep -c '"crc":' "$z_dir/journal.jsonl"); fi
}

z_believed() {
  case $z_line in
    '{'*',"crc":'*'}') ;;
    *) return 1 ;;
  esac
  z_value=${z_line##*',"crc":'}
  z_line=${z_line%',"crc":'*}
  z_checksum "$z_line" && [ "$z_crc}" = "$z_value" ]
}

z_forget_left() {
  z_rest=
  for z_each in $z_left; do
    [ "$z_each" = "$1" ] || z_rest="$z_rest $z_each"
  done
  z_left=$z_rest
}

z_rename_left() {
  z_rest=
  for z_each in $z_left; do
    [ "$z_each" != "$1" ] || z_each=$2
    z_rest="$z_rest $z_each"
  done
  z_left=$z_rest
}

z_note_left() {
  case " $z_left " in
    *" $1 "*) ;;
    *) z_left="$z_left $1" ;;
  esac
}

# Read what earlier sessions did: z_left (setups that may exist), z_known_facts, and a file for each trial that is done.
z_recall() {
  z_left='' z_known_facts='' z_done=0 z_failed=0
  rm -rf "$z_dir/.done"
  mkdir "$z_dir/.done" || z_die "cannot write in $z_dir"
  [ -e "$z_dir/journal.jsonl" ] || return 0
  z_count_lines
  tr '\0' '?' <"$z_dir/journal.jsonl" | grep -e '"event":"commit"' -e '"event":"fail"' -e '"event":"made"' -e '"event":"unmade"' \
    -e '"event":"altered"' -e '"event":"start".*"out":"setups/' -e '"event":"end".*"out":"facts","rc":0,' \
    >"$z_dir/.done/lines"
  while IFS= read -r z_line; do
    z_believed && z_recall_line
  done <"$z_dir/.done/lines"
  rm -f "$z_dir/.done/lines"
}

# End an incomplete last line, so the next line does not become part of it.
z_mend_journal() {
  [ -e "$z_dir/journal.jsonl" ] || return 0
  case $(tail -c 1 "$z_dir/journal.jsonl" | tr '\n\0' '+x') in
    '' | +) ;;
    *) printf '\n' >>"$z_dir/journal.jsonl" || z_die "cannot write in $z_dir" ;;
  esac
}

z_recall_line() {
  z_field event
  case $z_value in
    commit | fail) z_recall_trial "$z_value" ;;
    made)
      z_field signature
      z_note_left "$z_value"
      ;;
    altered)
      z_field was
      z_was=$z_value
      z_field signature
      z_rename_left "$z_was" "$z_value"
      ;;
    unmade)
      z_field signature
      z_forget_left "$z_value"
      ;;
    start)
      z_field out
      z_value=${z_value#setups/}
      z_note_left "${z_value%%/*}"
      ;;
    end)
      z_field step
      z_known_facts="$z_known_facts $z_value"
      ;;
  esac
}

z_recall_trial() {
  z_field trial
  z_mark=$z_value
  z_field replicate
  z_mark="$z_dir/.done/$z_mark.$z_value"
  if [ -e "$z_mark" ]; then
    IFS= read -r z_before <"$z_mark" || z_before=commit
    [ "$z_before" = commit ] || z_failed=$((z_failed - 1))
  else
    z_done=$((z_done + 1))
  fi
  [ "$1" = commit ] || z_failed=$((z_failed + 1))
  printf '%s\n' "$1" >"$z_mark" || z_die "cannot write in $z_dir"
}

# ---- Hashes of the files in the run folder ----

z_pick_hash() {
  if command -v sha256sum >/dev/null; then z_hasher=sha256sum z_method=sha256; else z_hasher=cksum z_method=cksum; fi
  z_odd=$(printf '*[\\\\\n\r]*') # the tools write such paths in different ways
}

z_hash_file() {
  z_hash=$($z_hasher <"$1") || z_hash=$($z_hasher <"$1") || z_die "cannot read $1"
  z_hash=$z_method-${z_hash%% *}
}

# The hash of the names and contents of all files of at most 256 MiB in a directory and below it.
z_hash_files() {
  z_list_files "$1" || z_list_files "$1" || z_lose
  z_hash=$($z_hasher <"$z_dir/.line") || z_hash=$($z_hasher <"$z_dir/.line") || z_lose
  z_hash=$z_method-${z_hash%% *}
}

z_list_files() {
  (cd "$1" && find . -type f -size -524289 ! -path "$z_odd" -exec "$z_hasher" {} +) >"$z_dir/.files" &&
    sort "$z_dir/.files" >"$z_dir/.line"
}

# ---- The folder ----

z_open() {
  z_mode=run z_runs='' z_left='' z_found=' '
  z_stop='' z_signals=0 z_tidying='' z_lost='' z_running='' z_collectors='' z_standing='' z_stale=' '
  z_bad_step='' z_bad_out='' z_bad_rc=0 z_first_step='' z_out='' z_lines=0
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help)
        z_help
        exit 0
        ;;
      --list) z_mode=list ;;
      --)
        shift
        break
        ;;
      -*) z_usage "unknown option $1" ;;
      *) break ;;
    esac
    shift
  done
  [ $# -le 1 ] || z_usage 'at most one directory can be given'
  z_runs=${1:-runs}
  [ "$z_mode" = run ] || return 0
  z_require
  z_pick_clock
}

z_usage() {
  z_say "$0: $*; see sh $0 --help"
  exit 2
}

z_require() {
  for z_each in cat cksum date find grep mkdir mv od rm sleep sort sync tail timeout tr; do
    command -v "$z_each" >/dev/null || z_die "$z_each is needed (it belongs to coreutils, util-linux or busybox)"
  done
  z_is_coreutils=
  if timeout --version >/dev/null 2>&1; then z_is_coreutils=1; fi
}

need() {
  [ "$z_mode" = run ] || return 0
  if [ "$1" = root ]; then
    [ "$(id -u)" = 0 ] || z_die "this plan must be run by root: $2"
    return 0
  fi
  case $1 in
    *' '*) sh -c "$1" >/dev/null 2>&1 </dev/null || z_die "\`$1\` must succeed, but it fails: $2" ;;
    *) command -v "$1" >/dev/null || z_die "$1 is missing: $2" ;;
  esac
}

# Devices that the run did not create are written to only if the user names them, for this plan and until the next boot.
armed() { # NAME…
  [ "$z_mode" = run ] || return 0
  read -r z_boot </proc/sys/kernel/random/boot_id
  z_each="$z_plan $z_boot $*"
  [ "${ZLANG_ARM:-}" != "$z_each" ] || return 0
  z_say "$0: this plan writes to devices that the run did not create:"
  for z_name in "$@"; do
    z_say "  $z_name"
  done
  z_die "to permit this, type: ZLANG_ARM='$z_each' sh $0 (add ZLANG_WIPE=NAME to overwrite the data on it)"
}

z_enter_folder() {
  [ "$z_mode" = run ] || return 0
  case $z_runs in
    /*) ;;
    *) z_runs=./$z_runs ;;
  esac
  z_shown_runs=$z_runs
  z_here=$(pwd -P && printf x)
  z_here=${z_here%??}
  case $z_here$z_runs in
    *"
"*) z_die 'the path of the working directory, or of the runs, has a newline in it: choose another one' ;;
  esac
  mkdir -p "$z_runs" || exit 1
  z_runs=$(cd "$z_runs" && pwd -P && printf x) || exit 1
  z_runs=${z_runs%??}
  z_find_folder
  if [ -z "$z_dir" ]; then z_new_folder; fi
  z_lock
  z_run=${z_dir##*/}
  z_session=$$-$(date +%s)
  case $z_run in
    '' | *[!a-z0-9-]*) z_die "$z_run is not the name of a run: [a-z0-9-] only" ;;
  esac
  if [ -z "$z_is_new" ]; then z_return; fi
  z_recall
}

# The newest folder of this same plan that is not finished.
z_find_folder() {
  z_dir='' z_is_new=''
  for z_each in "$z_runs"/*/plan.jsonl; do
    [ -f "$z_each" ] || continue
    IFS= read -r z_line <"$z_each" || continue
    case $z_line in
      *"\"plan\":\"$z_plan\""*"\"part\":\"$z_part\""*) ;;
      *) continue ;;
    esac
    z_is_finished "${z_each%/*}" || z_dir=${z_each%/*}
  done
}

z_is_finished() {
  [ -f "$1/journal.jsonl" ] || return 1
  case $(tail -n 1 "$1/journal.jsonl") in
    *'"event":"finish","crc":'*'}') return 0 ;;
    *) return 1 ;;
  esac
}

z_new_folder() {
  z_is_new=1
  z_stem=$z_runs/$z_word-$(z_stamp)
  z_count=0
  until z_dir=$z_stem-$(z_four_digits) && mkdir "$z_dir" 2>/dev/null; do
    z_count=$((z_count + 1))
    [ "$z_count" -lt 20 ] || z_die "cannot create a folder in $z_runs"
  done
  mkdir "$z_dir/source" || exit 1
  printf '%s' "$z_here" >"$z_dir/directory" || z_die "cannot write in $z_dir"
  if [ -f "$0" ]; then cat "$0" >"$z_dir/plan.sh" || z_die "cannot write in $z_dir"; fi
}

z_stamp() {
  date +%Y%m%d-%H%M%S
}

z_four_digits() {
  od -An -N2 -tx1 /dev/urandom | tr -d ' \n'
}

# Processes that the script starts have descriptor 9 closed, so the kernel frees the lock however the script ends.
z_lock() {
  exec 9>>"$z_dir/lock" || exit 1
  z_each=
  read -r z_each <"$z_dir/lock"
  if ! z_hold "$z_each"; then
    z_die "process ${z_each:-of another user} is already running ${z_dir##*/}"
  fi
  # While zlang carries out a copy of this folder, it has a file of this name in memory.
  if find /proc/[0-9]*/fd -type l -exec ls -l {} + 2>/dev/null | grep -q -F -e "/memfd:zlang-run-${z_dir##*/} "; then
    z_die "the run ${z_dir##*/} is being carried out by zlang, from a copy of this folder"
  fi
  printf '%s\n' "$$" >"$z_dir/lock"
}

# FreeBSD and illumos have no flock(1): there, the process that wrote its number must have ended.
z_hold() {
  if command -v flock >/dev/null; then
    flock -n 9
  else
    [ -z "$1" ] || ! kill -0 "$1" 2>/dev/null
  fi
}

# Commands run in the directory in which the run was started.
z_return() {
  [ -f "$z_dir/directory" ] || return 0
  z_here=$(cat "$z_dir/directory" && printf x)
  z_here=${z_here%x}
  cd "$z_here" || exit 1
}

source_file() {
  [ "$z_mode" = run ] && [ -n "$z_is_new" ] || return 0
  printf '%s' "$2" >"$z_dir/source/$1" || z_die "cannot write in $z_dir"
}

# Keeps the lines of the plan that are on its standard input.
keep() {
  [ "$z_mode" = run ] && [ -n "$z_is_new" ] || return 0
  cat >>"$z_dir/.plan.jsonl" || z_die "cannot write in $z_dir"
}

# ---- Beginning, ending, being stopped ----

begin_run() {
  [ "$z_mode" = run ] || return 0
  if [ -n "$z_is_new" ]; then
    sync "$z_dir/.plan.jsonl" 2>/dev/null || sync
    mv "$z_dir/.plan.jsonl" "$z_dir/plan.jsonl" || exit 1
    sync "$z_dir" "$z_runs" 2>/dev/null || sync
  fi
  trap 'z_hear 130' INT
  trap 'z_hear 131' QUIT
  trap 'z_hear 143' TERM
  trap 'z_hear 129' HUP
  z_boot=
  if [ -r /proc/sys/kernel/random/boot_id ]; then read -r z_boot </proc/sys/kernel/random/boot_id; fi
  z_say "$z_title"
  if [ -n "$z_is_new" ]; then z_say "starting $z_dir"; else z_say "continuing $z_dir: $z_done of $z_trials trials are done"; fi
  z_pick_hash
  z_hash_file "$z_dir/plan.jsonl"
  z_mend_journal
  z_now
  z_node=$(printf %s "$(uname -n)" | tr -cs 'A-Za-z0-9._-' _)
  z_write_through "\"session\",\"run\":\"$z_run\",\"boot\":\"$z_boot\",\"plan\":\"$z_hash\",\"node\":\"$z_node\""
  if [ -z "$z_is_new" ]; then
    z_sweep
    z_unmake_leftovers
  fi
}

z_unmake_leftovers() {
  for z_each in $z_left; do
    case $z_found in
      *" $z_each="*)
        z_number=${z_found#*" $z_each="}
        z_number=${z_number%% *}
        z_standing="$z_standing $z_number"
        eval "z_invalidate \"\$z_key_$z_number\""
        z_find_made "$z_number"
        ;;
      *) z_die "the journal of $z_run names a setup that the plan does not have: $z_each" ;;
    esac
  done
  z_tear_down
}

end_run() {
  [ "$z_mode" = run ] || return 0
  z_check
  z_tear_down
  z_check
  z_sweep
  z_now
  if [ "$z_done" -ge "$z_trials" ] && [ -z "${z_standing# }" ]; then z_write_through '"finish"'; fi
  trap '' INT QUIT TERM HUP
  rm -rf "$z_dir/.done" "$z_dir/.line" "$z_dir/.files"
  z_say "$z_done of $z_trials trials are done, $z_failed of them failed; the output is in $z_dir"
  z_say "to read the results: zlang ingest $z_shown_runs"
  [ "$z_failed" -eq 0 ] && [ -z "${z_standing# }" ] || exit 1
  exit 0
}

# A signal ends only the command that is running; z_check does the rest between two commands.
z_hear() {
  z_signals=$((z_signals + 1))
  if [ -r /proc/uptime ]; then read -r z_heard z_heard_rest </proc/uptime; else z_heard=$(date +%s).00; fi
  z_heard=${z_heard%.*}${z_heard#*.}
  if [ -z "$z_stop" ]; then
    z_stop=$1 z_first=$z_heard
    z_say 'stopping; press Ctrl-C again to stop without removing anything'
    if [ -n "$z_running" ]; then kill -TERM "${!-}" 2>/dev/null; fi
  elif [ $((z_heard - z_first)) -gt 30 ]; then # else it is the same wish: timeout(1) signals a process and its group
    if [ -n "$z_running" ]; then kill -KILL "${!-}" 2>/dev/null; fi
    z_sweep
    exit "$1"
  fi
}

z_check() {
  [ -z "$z_stop" ] || [ -n "$z_tidying" ] || z_interrupted
}

z_interrupted() {
  z_tidying=1
  settle
  z_tear_down
  z_sweep
  z_now
  z_write_through '"interrupt"'
  rm -rf "$z_dir/.done" "$z_dir/.line" "$z_dir/.files"
  z_say "interrupted: $z_done of $z_trials trials are done; start this script again to continue"
  exit "$z_stop"
}

# ---- Processes ----

# shellcheck disable=SC2086
z_sweep() {
  z_strays "$@" || return 0
  kill -TERM $z_found_pids 2>/dev/null
  z_count=0
  while z_strays "$@"; do
    z_count=$((z_count + 1))
    [ "$z_count" -le 50 ] || kill -KILL $z_found_pids 2>/dev/null
    [ "$z_count" -le 150 ] || z_die "processes$z_found_pids cannot be ended: they wait for a device"
    sleep 0.1 2>/dev/null || sleep 1
  done
}

# Start command $3 of step $1 for at most $2 seconds, in the background, so the script notices a signal at once. timeout
# of coreutils gives it a process group and makes it react to SIGINT again, which the shell ignores after `&`.
z_launch() {
  z_log_out=$z_dir/$z_out/$1.out z_log_err=$z_dir/$z_out/$1.err
  if [ -n "$z_lost" ]; then z_log_out=/dev/null z_log_err=/dev/null; fi
  RUN=$z_run OUT=$z_dir/$z_out CDPATH='' LC_ALL=C ZLANG_RUN=$z_run ZLANG_SESSION=$z_session ZLANG_STEP=$1 \
    timeout -k 5 "$2" sh -c "$3" </dev/null >"$z_log_out" 2>"$z_log_err" 9>&- &
}

# The exit code of process z_pid. A signal to the script ends `wait`, not the process.
z_wait() {
  z_seen=$z_signals
  wait "$z_pid" 2>/dev/null
  z_rc=$?
  while [ "$z_signals" -ne "$z_seen" ]; do
    z_seen=$z_signals
    wait "$z_pid" 2>/dev/null
    z_again=$?
    [ "$z_again" -eq 127 ] || z_rc=$z_again
  done
}

# Make the code 124 if the $1 seconds from $2 are over: timeout of busybox does not, nor does any after SIGKILL.
z_name_timeout() {
  [ -z "$z_is_coreutils" ] || [ "$z_rc" -eq 137 ] || return 0
  [ -z "$z_stop" ] || return 0
  z_milliseconds
  [ $((z_ms - $2)) -lt $(($1 * 1000)) ] || z_rc=124
}

# A setup without parents writes the inode and the path of the directory that it created to the file `made`.
z_is_replaced() {
  for z_maker in $z_standing; do
    eval "z_made=\${z_made_$z_maker:-}"
    [ -f "$z_made" ] || continue
    { read -r z_inode z_born && IFS= read -r ZLANG_REPLACED; } <"$z_made" || continue
    z_there=$(ls -di -- "$ZLANG_REPLACED" 2>/dev/null) || continue
    z_there=${z_there#"${z_there%%[! ]*}"}
    [ "${z_there%% *}" = "$z_inode" ] || return 0
  done
  return 1
}

step() { # NAME TIMEOUT COMMAND, in the directory z_out
  z_check
  z_now
  z_write_through "\"start\",\"step\":\"$1\",\"out\":\"$z_out\""
  z_milliseconds
  z_began=$z_ms
  z_running=1
  if z_is_replaced; then
    export ZLANG_REPLACED
    set -- "$1" "$2" 'echo "$ZLANG_REPLACED is not the directory that this run made" >&2; exit 126'
  fi
  z_launch "$@"
  z_pid=$!
  # A signal that arrived before the command was started has not ended it.
  if [ -n "$z_stop" ] && [ -z "$z_tidying" ]; then kill -TERM "$z_pid" 2>/dev/null; fi
  z_wait
  z_running=
  z_now
  z_name_timeout "$2" "$z_began"
  if [ "$z_rc" -eq 0 ] && z_is_replaced; then
    z_rc=126
    echo "$ZLANG_REPLACED was replaced: it is no longer what this run created" >>"$z_dir/$z_out/$1.err"
  fi
  [ "$z_rc" -eq 0 ] || z_sweep "$z_out" "$1"
  z_files=
  if [ "$z_out $z_rc" = 'facts 0' ]; then
    z_hash_file "$z_dir/facts/$1.out"
    z_files=",\"files\":\"$z_hash\""
  fi
  z_write "\"end\",\"step\":\"$1\",\"out\":\"$z_out\",\"rc\":$z_rc$z_files"
  z_check
  [ "$z_rc" -ne 0 ] || return 0
  z_bad_step=$1 z_bad_out=$z_out z_bad_rc=$z_rc
  return 1
}

# Show the commands that a person can type on another machine.
z_show_typed() {
  [ -z "$1" ] || z_say "  RUN=$z_run; OUT=.; export RUN OUT
$1"
}

tell() { # NAME WHAT TYPED; nobody waits for it
  z_check
  z_now
  z_write_through "\"start\",\"step\":\"$1\",\"out\":\"$z_out\""
  z_say "manual step: $2"
  z_show_typed "$3"
  z_write "\"end\",\"step\":\"$1\",\"out\":\"$z_out\",\"rc\":0"
}

ask() { # NAME WHAT TYPED; goes on when somebody presses Enter, and ends the run where nobody can
  z_check
  z_now
  z_write_through "\"start\",\"step\":\"$1\",\"out\":\"$z_out\""
  z_say "manual step: $2, then press Enter"
  z_show_typed "$3"
  if ! read -r z_each; then
    [ -n "$z_stop" ] || z_stop=1
    z_interrupted
  fi
  z_now
  z_write "\"end\",\"step\":\"$1\",\"out\":\"$z_out\",\"rc\":0"
  z_check
}

collect() { # NAME TIMEOUT COMMAND; it runs until it is stopped, whatever the timeout
  z_check
  z_now
  z_write_through "\"start\",\"step\":\"$1\",\"out\":\"$z_out\""
  z_launch "$1" 99999999 "$3"
  z_collectors="$1 $! $z_collectors"
}

settle() {
  z_first_step=$z_bad_step z_first_out=$z_bad_out z_first_rc=$z_bad_rc
  # shellcheck disable=SC2086
  set -- $z_collectors
  while [ $# -gt 1 ]; do
    z_pid=$2
    kill -TERM "$z_pid" 2>/dev/null
    [ -n "$z_is_coreutils" ] || z_sweep "$z_out" "$1"
    z_wait
    z_sweep "$z_out" "$1"
    z_now
    z_name=$1
    shift 2
    z_collectors=$*
    z_write "\"end\",\"step\":\"$z_name\",\"out\":\"$z_out\",\"rc\":$z_rc"
  done
}

# ---- Setups: z_standing has the numbers of those that exist, in the order of creation; z_stale has keys ----

# NUMBER SIGNATURE KEY PARENTS KEY-IN-JSON WHAT BASE SETTINGS; keys by number, 0 = no parents; bases by number, 0 = none;
# settings as VALUE:COMMANDS:NUMBER, with an r if it invalidates what is built on it; one more word if it applies to the
# whole machine.
setup() {
  eval "z_sig_$1=\$2 z_key_$1=\$3 z_parent_$1=\$4 z_json_$1=\$5 z_what_$1=\$6 z_base_$1=\$7 z_settings_$1=\$8 z_ambient_$1=\${9:-}"
  eval "z_place_$1='' z_tries_$1=0"
  case " $z_left " in
    *" $2 "*) z_found="$z_found$2=$1 " ;;
  esac
}

z_invalidate() {
  case $z_stale in
    *" $1 "*) ;;
    *) z_stale="$z_stale$1 " ;;
  esac
}

z_freshen() {
  case $z_stale in
    *" $1 "*) z_stale="${z_stale%%" $1 "*} ${z_stale#*" $1 "}" ;;
  esac
}

z_take_from_standing() {
  z_rest=
  for z_each in $z_standing; do
    [ "$z_each" = "$1" ] || z_rest="$z_rest $z_each"
  done
  z_standing=$z_rest
}

z_reverse() {
  z_reversed=
  for z_each in "$@"; do
    z_reversed="$z_each $z_reversed"
  done
}

# Create a directory in $1 for the next attempt, from number $2 + 1 on.
z_attempt() {
  z_try=$2
  while :; do
    z_try=$((z_try + 1))
    z_out=$1/a$z_try
    [ -e "$z_dir/$z_out" ] || break
  done
  mkdir -p "$z_dir/$z_out" || mkdir -p "$z_dir/$z_out" || z_lose
}

z_setup_attempt() {
  eval "z_attempt \"setups/\$z_sig_$1\" \"\$z_tries_$1\"; z_tries_$1=\$z_try"
}

# Create the setups $@ (parents first), except those that exist in the required state.
z_bring() {
  z_keys=' '
  for z_needed in "$@"; do
    eval "z_keys=\"\$z_keys\$z_key_$z_needed \""
  done
  # shellcheck disable=SC2086
  z_reverse $z_standing
  for z_unneeded in $z_reversed; do
    case " $z_standing " in
      *" $z_unneeded "*) ;;
      *) continue ;;
    esac
    eval "z_key=\$z_key_$z_unneeded"
    case $z_keys in
      *" $z_key "*) continue ;;
    esac
    eval "[ -z \"\$z_ambient_$z_unneeded\" ]" || z_clear "$z_key" || return 1
  done
  for z_needed in "$@"; do
    eval "z_key=\$z_key_$z_needed"
    case " $z_standing " in
      *" $z_needed "*)
        case $z_stale in
          *" $z_key "*) ;;
          *) continue ;;
        esac
        ;;
    esac
    if z_can_alter "$z_needed"; then
      z_alter "$z_was" "$z_needed" || return 1
    else
      z_clear "$z_key" && z_make "$z_needed" || return 1
    fi
  done
}

# z_found_upon: the setup of a key, and all that are built on it, the newest first.
z_upon() {
  z_doomed=" $1 " z_found_upon=
  for z_each in $z_standing; do
    eval "z_key=\$z_key_$z_each z_parent=\$z_parent_$z_each"
    for z_under in $z_parent; do
      case $z_doomed in
        *" $z_under "*) z_doomed="$z_doomed$z_key " ;;
      esac
    done
    case $z_doomed in
      *" $z_key "*) z_found_upon="$z_each $z_found_upon" ;;
    esac
  done
}

# Whether what exists can be changed into the state of setup $1 without creating it again; z_was is then its setup.
z_can_alter() {
  eval "z_wanted=\$z_key_$1 z_base=\$z_base_$1"
  [ "$z_base" != 0 ] || return 1
  case $z_stale in
    *" $z_wanted "*) return 1 ;;
  esac
  for z_was in $z_standing; do
    eval "z_each=\$z_key_$z_was"
    [ "$z_each" = "$z_wanted" ] || continue
    eval "[ \"\$z_base_$z_was\" = $z_base ]"
    return
  done
  return 1
}

# Apply a setting, unless its commands have run, and note whether it invalidates what is built on it.
z_set() {
  z_to_do=${1#*:}
  case $z_have_run in
    *" ${z_to_do%:*} "*) ;;
    *)
      z_have_run="$z_have_run${z_to_do%:*} "
      z_to_do=${z_to_do#*:}
      "set_${z_to_do%r}" || return 1
      ;;
  esac
  case $1 in
    *r) z_is_rewritten=1 ;;
  esac
}

z_alter() { # WAS NUMBER
  eval "z_altered=\$z_key_$2 z_is_set=\" \$z_settings_$1 \" z_to_set=\$z_settings_$2"
  z_invalidate "$z_altered" # its state is now unknown: if this fails, it is created again
  z_setup_attempt "$1"
  z_is_rewritten='' z_have_run=' '
  # First the settings with another value, then those whose commands use such a value. Shared commands run once.
  for z_setting in $z_to_set; do
    case $z_is_set in
      *" ${z_setting%%:*}:"*) continue ;;
    esac
    z_set "$z_setting" || return 1
  done
  for z_setting in $z_to_set; do
    z_to_do=${z_setting#*:}
    case $z_is_set$z_have_run in
      *" $z_setting "* | *" ${z_to_do%:*} "*) continue ;;
    esac
    z_set "$z_setting" || return 1
  done
  eval "z_now_is_altered \"\$z_json_$2\" \"\$z_sig_$1\" \"\$z_sig_$2\"; z_place_$1="
  z_freshen "$z_altered"
  z_rest=
  for z_each in $z_standing; do
    [ "$z_each" != "$1" ] || z_each=$2
    z_rest="$z_rest $z_each"
  done
  z_standing=$z_rest
  [ -n "$z_is_rewritten" ] || return 0
  z_upon "$z_altered"
  for z_each in $z_found_upon; do
    eval "z_key=\$z_key_$z_each"
    [ "$z_key" = "$z_altered" ] || z_invalidate "$z_key"
  done
}

# Remove the setup of a key, and all that is built on it, the newest first.
z_clear() {
  z_upon "$1"
  z_clearing=$z_found_upon
  for z_unmaking in $z_clearing; do
    z_unmake "$z_unmaking" || return 1
  done
}

z_make() {
  eval "z_key=\$z_key_$1"
  z_standing="$z_standing $1"
  z_invalidate "$z_key" # half made: whatever happens now, it has to be unmade
  z_setup_attempt "$1"
  eval "z_place_$1=\$z_out"
  "make_$1"
  z_made_rc=$?
  settle
  if [ "$z_made_rc" -ne 0 ]; then
    z_kept_step=$z_bad_step z_kept_out=$z_bad_out z_kept_rc=$z_bad_rc
    z_unmake "$1"
    z_bad_step=$z_kept_step z_bad_out=$z_kept_out z_bad_rc=$z_kept_rc
    return 1
  fi
  eval "z_now_is made \"\$z_json_$1\" \"\$z_sig_$1\"; z_freshen \"\$z_key_$1\""
  z_find_made "$1"
}

# The file in which the latest attempt noted what setup $1 created.
z_find_made() {
  eval "z_try=\$z_tries_$1 z_place=\$z_dir/setups/\$z_sig_$1; z_made_$1="
  [ "$(eval "echo \$z_parent_$1")" = 0 ] || return 0
  while [ "$z_try" -gt 0 ]; do
    if [ -f "$z_place/a$z_try/made" ]; then
      eval "z_made_$1=\$z_place/a$z_try/made"
      return 0
    fi
    z_try=$((z_try - 1))
  done
}

# Write the event for the moment at which the last command ended.
z_now_is() {
  z_write "\"$1\",\"key\":$2,\"signature\":\"$3\""
}

z_now_is_altered() {
  z_write "\"altered\",\"key\":$1,\"was\":\"$2\",\"signature\":\"$3\""
}

z_unmake() {
  eval "z_invalidate \"\$z_key_$1\"; z_out=\$z_place_$1; z_place_$1="
  if [ -z "$z_out" ] && [ -z "$z_lost" ]; then z_setup_attempt "$1"; fi
  "unmake_$1" || return 1
  eval "z_made_$1="
  eval "z_now_is unmade \"\$z_json_$1\" \"\$z_sig_$1\"; z_freshen \"\$z_key_$1\""
  z_take_from_standing "$1"
}

# Remove everything, the newest first, except what is beneath something that could not be removed.
z_tear_down() {
  z_held=' '
  # shellcheck disable=SC2086
  z_reverse $z_standing
  for z_unmaking in $z_reversed; do
    eval "z_key=\$z_key_$z_unmaking z_parent=\$z_parent_$z_unmaking"
    case $z_held in
      *" $z_key "*) z_held="$z_held$z_parent " ;;
      *)
        if ! z_unmake "$z_unmaking"; then
          z_held="$z_held$z_parent "
          z_why=$(tail -n 1 "$z_dir/$z_bad_out/$z_bad_step.err" 2>/dev/null)
          eval "z_say \"not removed: \$z_what_$z_unmaking (\$z_bad_step exited with \$z_bad_rc, see \$z_bad_out): \$z_why\""
        fi
        ;;
    esac
  done
}

# ---- Trials ----

fact() { # NAME TIMEOUT COMMAND
  [ "$z_mode" = run ] || return 0
  case " $z_known_facts " in
    *" $1 "*) return 0 ;;
  esac
  z_out=facts
  [ -d "$z_dir/facts" ] || mkdir "$z_dir/facts"
  step "$@" || :
}

# NUMBER IDENTITY REPLICATE WHAT SETUPS INVALIDATED-KEYS; fails if there is nothing to do.
# shellcheck disable=SC2086
trial() {
  if [ "$z_mode" = list ]; then
    printf '%s\n' "$1  $2/$3  $4"
    return 1
  fi
  [ ! -e "$z_dir/.done/$2.$3" ] || return 1
  z_check
  z_number=$1 z_trial=$2 z_replicate=$3 z_label=$4
  z_milliseconds
  z_trial_began=$z_ms z_bad_step='' z_first_step=
  if ! z_bring $5; then
    ended
    return 1
  fi
  z_attempt "trials/$2/$3" 0
  z_write "\"begin\",\"trial\":\"$2\",\"replicate\":$3,\"number\":$1,\"out\":\"$z_out\""
  for z_each in $6; do
    z_invalidate "$z_each"
  done
}

ended() {
  # Removal after a failure may fail, too: the first failure is the reason.
  [ -z "$z_first_step" ] || z_bad_step=$z_first_step z_bad_out=$z_first_out z_bad_rc=$z_first_rc
  if [ -n "$z_bad_step" ]; then
    z_outcome=fail
    z_failed=$((z_failed + 1))
    z_said="FAILED: $z_bad_step exited with $z_bad_rc, see $z_dir/$z_bad_out/$z_bad_step.err"
    if [ "$z_bad_rc" -eq 124 ]; then z_said="FAILED: $z_bad_step timed out"; fi
  else
    z_outcome=commit
    z_sync_out
    z_hash_files "$z_dir/$z_out"
    z_now
    z_said=ok
  fi
  z_about="\"trial\":\"$z_trial\",\"replicate\":$z_replicate"
  case $z_outcome in
    commit) z_write_through "\"commit\",$z_about,\"out\":\"$z_out\",\"files\":\"$z_hash\"" ;;
    fail) z_write_through "\"fail\",$z_about,\"out\":\"$z_bad_out\",\"step\":\"$z_bad_step\"" ;;
  esac
  z_done=$((z_done + 1))
  z_milliseconds
  z_ms=$((z_ms - z_trial_began))
  z_say "[$z_number/$z_of] $z_label: $z_said ($((z_ms / 1000)).$((z_ms % 1000 / 100)) s)"
}

# Wait until the output of the tools and its directories are on the disk.
z_sync_out() {
  for z_each in "$z_dir/$z_out"/*/; do
    [ ! -d "$z_each" ] || {
      sync
      return 0
    }
  done
  z_up=$z_dir/${z_out%/*}
  sync "$z_dir/$z_out"/* "$z_dir/$z_out" "$z_up" "${z_up%/*}" "$z_dir/trials" "$z_dir" 2>/dev/null || sync
}

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

# ---- This plan ----

z_open "$@"
z_enter_folder
source_file a.zexp 'it'"'"'s
END_OF_PLAN
'
source_file a-2.zexp 'no newline'

keep <<'END_OF_PLAN'
{"header":{"experiment":"Sweep it","title":"A test","plan":"c0ffee","seed":1,"points":1,"repeat":1,"trials":5,"factors":[],"sources":{"dir/a.zexp":"it's\nEND_OF_PLAN\n","a.zexp":"no newline"},"facts":[{"name":"uname","action":"fact","command":"uname -a","why":"which kernel","timeout":30,"host":"local","expect":null,"reader":null}],"tools":{},"design":"full","left_out":0,"format":2,"expectations":[],"tables":[],"plots":[],"hosts":[],"part":"","guarded":[],"findings":[],"order":"planned","whole_plot_factors":[],"devices":[],"settings":{},"until":null,"search":null,"metrics":[],"machines":{},"shared":{},"groups":{},"least_repeat":0,"passes":1}}
{"setup":{"signature":"p1","key":"pool","parent":null,"creates":"the pool","make":[{"name":"make-p1","action":"prepare","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"unmake":[{"name":"unmake-p1","action":"tidy","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"base":null,"settings":[],"is_ambient":false,"is_place":false,"footprint":null,"parts":[]}}
{"setup":{"signature":"d1","key":"data","parent":"pool","creates":"the data","make":[{"name":"make-d1","action":"prepare","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"unmake":[{"name":"unmake-d1","action":"tidy","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"base":null,"settings":[],"is_ambient":false,"is_place":false,"footprint":null,"parts":[]}}
{"trial":{"number":1,"identity":"t1","replicate":1,"block":1,"factors":{"bs":4096},"cache":"as_is","cache_state":"as_is","setups":["p1","d1"],"invalidates":[],"steps":[{"name":"flush","action":"flush","command":"sync \"$OUT\"","why":"nothing may be cached","timeout":30,"host":"local","expect":null,"reader":null},{"name":"verify","action":"verify","command":"echo 0","why":"see that it is so","timeout":30,"host":"local","expect":null,"reader":null},{"name":"vmstat","action":"collect","command":"exec sleep 100","why":"watch memory","timeout":30,"host":"local","expect":null,"reader":null},{"name":"iostat","action":"collect","command":"sleep 100; :","why":"watch disks","timeout":30,"host":"local","expect":null,"reader":null},{"name":"measure","action":"measure","command":"echo \"it's $RUN\"; printf '```\\n'","why":"the point of it","timeout":30,"host":"local","expect":null,"reader":null},{"name":"clean","action":"tidy","command":"rm -f \"$OUT\"/x","why":"leave nothing behind","timeout":30,"host":"local","expect":null,"reader":null}],"host":"","whole_plot":0,"traits":{},"footprint":null,"fetch":null}}
{"trial":{"number":2,"identity":"t2","replicate":1,"block":1,"factors":{"bs":8192},"cache":"as_is","cache_state":"as_is","setups":["p1","d1"],"invalidates":["data"],"steps":[{"name":"breaks","action":"measure","command":"echo oops >&2; exit 3","why":"a test","timeout":30,"host":"local","expect":null,"reader":null},{"name":"never","action":"measure","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"host":"","whole_plot":0,"traits":{},"footprint":null,"fetch":null}}
{"trial":{"number":3,"identity":"t3","replicate":1,"block":1,"factors":{"engine":"libaio","direct":true,"ramp":null},"cache":"as_is","cache_state":"as_is","setups":["p1","d1"],"invalidates":[],"steps":[{"name":"measure","action":"measure","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"host":"","whole_plot":0,"traits":{},"footprint":null,"fetch":null}}
{"setup":{"signature":"p2","key":"pool","parent":null,"creates":"the pool","make":[{"name":"make-p2","action":"prepare","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"unmake":[{"name":"unmake-p2","action":"tidy","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"base":"p","settings":[{"name":"sync","steps":[{"name":"set-sync","action":"prepare","command":":; : on","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"rewrites":false,"value":"on"},{"name":"block","steps":[{"name":"set-block","action":"prepare","command":":; : 8","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"rewrites":true,"value":"8"}],"is_ambient":false,"is_place":false,"footprint":null,"parts":[]}}
{"trial":{"number":4,"identity":"t4","replicate":1,"block":1,"factors":{"bs":16384},"cache":"as_is","cache_state":"as_is","setups":["p2"],"invalidates":[],"steps":[{"name":"measure","action":"measure","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"host":"","whole_plot":0,"traits":{},"footprint":null,"fetch":null}}
{"setup":{"signature":"p3","key":"pool","parent":null,"creates":"the pool","make":[{"name":"make-p3","action":"prepare","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"unmake":[{"name":"unmake-p3","action":"tidy","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"base":"p","settings":[{"name":"sync","steps":[{"name":"set-sync","action":"prepare","command":":; : on","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"rewrites":false,"value":"on"},{"name":"block","steps":[{"name":"set-block","action":"prepare","command":":; : 9","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"rewrites":true,"value":"9"}],"is_ambient":false,"is_place":false,"footprint":null,"parts":[]}}
{"trial":{"number":5,"identity":"t5","replicate":1,"block":1,"factors":{"bs":20480},"cache":"as_is","cache_state":"as_is","setups":["p3"],"invalidates":[],"steps":[{"name":"measure","action":"measure","command":":","why":"a test","timeout":30,"host":"local","expect":null,"reader":null}],"host":"","whole_plot":0,"traits":{},"footprint":null,"fetch":null}}
END_OF_PLAN

# the pool
setup 1 p1 1 0 '"pool"' 'the pool' 0 ''
make_1() {
  # a test
  step make-p1 30 :
}
unmake_1() {
  # a test
  step unmake-p1 30 :
}

# the data
setup 2 d1 2 1 '"data"' 'the data' 0 ''
make_2() {
  # a test
  step make-d1 30 :
}
unmake_2() {
  # a test
  step unmake-d1 30 :
}

# the pool
setup 3 p2 1 0 '"pool"' 'the pool' 1 '1:1:1 2:2:2r'
make_3() {
  # a test
  step make-p2 30 :
}
unmake_3() {
  # a test
  step unmake-p2 30 :
}
set_1() {
  # a test
  step set-sync 30 ':; : on'
}
set_2() {
  # a test
  step set-block 30 ':; : 8'
}

# the pool
setup 4 p3 1 0 '"pool"' 'the pool' 1 '1:1:1 3:3:3r'
make_4() {
  # a test
  step make-p3 30 :
}
unmake_4() {
  # a test
  step unmake-p3 30 :
}
set_3() {
  # a test
  step set-block 30 ':; : 9'
}

begin_run

# which kernel
fact uname 30 'uname -a'

if trial 1 t1 1 bs=4096 '1 2' ''; then
  # nothing may be cached
  step flush 30 'sync "$OUT"' &&
  # see that it is so
  step verify 30 'echo 0' &&
  # watch memory
  collect vmstat 30 'exec sleep 100' &&
  # watch disks
  collect iostat 30 'sleep 100; :' &&
  # the point of it
  step measure 30 'echo "it'"'"'s $RUN"; printf '"'"'```\n'"'"''
  settle
  # leave nothing behind
  step clean 30 'rm -f "$OUT"/x'
  ended
fi

if trial 2 t2 1 bs=8192 '1 2' '2'; then
  # a test
  step breaks 30 'echo oops >&2; exit 3' &&
  # a test
  step never 30 :
  settle
  ended
fi

if trial 3 t3 1 'engine=libaio, direct=true, ramp=-' '1 2' ''; then
  # a test
  step measure 30 :
  settle
  ended
fi

if trial 4 t4 1 bs=16384 '3' ''; then
  # a test
  step measure 30 :
  settle
  ended
fi

if trial 5 t5 1 bs=20480 '4' ''; then
  # a test
  step measure 30 :
  settle
  ended
fi

end_run
