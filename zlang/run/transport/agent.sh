# agent.sh: runs steps on a machine for a coordinator, which writes lines to its standard input and reads its answers.
# It comes after emit/processes.sh.
#
# First line: RUN DEAD BYTES, then BYTES of the directory's path. After that:
#   beat                                         the coordinator is there; without one for DEAD seconds all ends
#   clock TOKEN                                  -> clock TOKEN WALL UP
#   run ID TIMEOUT SIZE KEEP STEP OUT [NAME=SIZE...]  then the command, and the values of the variables, each with a full
#                                                stop at its end, which a shell does not leave away. SIZE is a number of
#                                                bytes, or of lines with an l in front: these need no process to be read.
#                                                KEEP is `lose`, `keep` the output, or `time` it too;
#                                                -> ended ID CODE WALL UP BEGAN OVER: the clocks now (WALL is 0 if a step
#                                                is not timed, and took less than a second), and the uptimes at
#                                                its start and its end, with `full` behind them if the step failed and
#                                                the disk of the run folder is full, because nothing there can say so
#   stop ID                                      end a step: TERM, then KILL
#   kill ID                                      end a step at once
#   hold OUT, release OUT                        before and after each step the directory named in OUT/made must be the same
#   drop OUT...                                  remove what was fetched; `made` and `leaves` stay, for what removes things
#   sweep                                        end all processes of the run -> swept COUNT, or stuck PIDS
#   forget                                       remove the run folder, and the directories if we made them -> forgotten;
#                                                forgotten mounted if something is mounted there: nothing is removed
# Answers at the start: ready TOKEN BOOT UID, refused TOKEN REASON, or unusable TOKEN REASON where another directory is needed,
# at the beginning of a line. The coordinator chose the token ($z_token), so that nothing that a login shell prints is taken
# for an answer.
# Rule: only the coordinator's words become commands, and all other text is quoted. When standard input ends, or nobody
# writes, all processes of the run are ended.
# shellcheck shell=sh disable=SC2034,SC2086,SC2317,SC3013
set -u
LC_ALL=C CDPATH=''
export LC_ALL CDPATH
unset BLOCKSIZE BLOCK_SIZE DF_BLOCK_SIZE LS_BLOCK_SIZE POSIXLY_CORRECT QUOTING_STYLE TIME_STYLE # they change what tools print
PATH=${PATH:-/bin:/usr/bin}
for z_place in /usr/local/sbin /usr/sbin /sbin; do
  case :$PATH: in *:$z_place:*) ;; *) PATH=$PATH:$z_place ;; esac
done
export PATH
umask 022
read -r z_run z_dead z_bytes || exit 1
z_base=$(dd bs="$z_bytes" count=1 iflag=fullblock 2>/dev/null; echo .)
z_base=${z_base%.}
z_folder=$z_base/$z_run
z_held=''
z_is_killed=''
z_found_pids=''
z_nl='
'
z_is_new=''

z_refuse() { # WORD REASON
  [ -z "$z_is_new" ] || z_forget 2>/dev/null
  printf '\n%s %s %s\n' "$1" "${z_token?}" "$2"
  exit 1
}
refuse() { z_refuse refused "$1"; }
refuse_directory() { z_refuse unusable "$1"; }

z_read_uptime() {
  z_up=0
  if [ -r /proc/uptime ]; then read -r z_up z_idle </proc/uptime; fi
}

z_now() {
  z_wall=$(date +%s.%N)
  case $z_wall in *[!0-9.]*) z_wall=$(date +%s) ;; esac
  z_read_uptime
}

z_sweep() {
  z_count=0 z_swept=0
  while z_strays "$@"; do
    if [ "$z_count" -eq 0 ]; then
      z_swept=$(set -- $z_found_pids; echo $#)
      kill -TERM $z_found_pids 2>/dev/null
    fi
    if [ "$z_count" -gt 50 ] || [ -n "$z_is_killed" ]; then kill -KILL $z_found_pids 2>/dev/null; fi
    [ "$z_count" -le 120 ] || return 1
    z_count=$((z_count + 1))
    sleep 0.1 2>/dev/null || sleep 1
  done
}

# Reads a text of so many bytes, or of so many lines: $z_text. `head -c` of busybox would read more than it prints.
z_take() { # SIZE
  case $1 in
    l*)
      z_text='' z_lines=${1#l}
      while IFS= read -r z_line && [ "$z_lines" -gt 1 ]; do
        z_text=$z_text$z_line$z_nl z_lines=$((z_lines - 1))
      done
      z_text=$z_text$z_line
      ;;
    *) z_text=$(dd bs="$1" count=1 iflag=fullblock) ;;
  esac
  z_text=${z_text%.}
}

# Whether a directory that is held is not what it was: $z_path. An open descriptor holds it, so that nothing else gets its
# inode, and is compared without a process; where there are no such descriptors, or too many, what `made` says of it is.
z_replaced() {
  for z_each in $z_held; do
    z_out=${z_each#*:}
    { read -r z_inode z_born && IFS= read -r z_path; } 2>/dev/null <"$z_folder/$z_out/made" || continue
    case $z_each in
      0:*) z_is_another && return 0 ;;
      *)
        [ ! -L "$z_path" ] || return 0
        if [ -e "$z_path" ] && ! [ "/dev/fd/${z_each%%:*}" -ef "$z_path" ]; then return 0; fi
        ;;
    esac
  done
  return 1
}

z_is_another() {
  z_there=$($z_stat -- "$z_path" 2>/dev/null) || return 1
  z_there=${z_there#"${z_there%%[! ]*}"}
  [ "${z_there%%[ :]*}" = "$z_inode" ] || return 0
  z_there=${z_there#*[ :]}
  case $z_born$z_there in *[!0-9]*) return 1 ;; esac # an inode is used again; `made` has its time of birth on Linux
  [ -n "$z_born" ] && [ "$z_there" != "$z_born" ]
}

z_hold() { # OUT
  for z_number in 4 5 6 7 8 9 0; do
    case " $z_held" in *" $z_number:"*) ;; *) break ;; esac
  done
  if [ "$z_number" != 0 ]; then
    { read -r z_inode z_born && IFS= read -r z_path; } 2>/dev/null <"$z_folder/$1/made" || z_path=
    if [ -d "$z_path" ] && [ -r "$z_path" ]; then eval "exec $z_number<\"\$z_path\""; fi
    if ! [ "/dev/fd/$z_number" -ef "$z_path" ] || z_is_another; then
      eval "exec $z_number<&-"
      z_number=0
    fi
  fi
  z_held="$z_held $z_number:$1"
}

z_release() { # OUT
  z_kept=
  for z_each in $z_held; do
    if [ "${z_each#*:}" != "$1" ]; then
      z_kept="$z_kept $z_each"
    elif [ "${z_each%%:*}" != 0 ]; then
      eval "exec ${z_each%%:*}<&-"
    fi
  done
  z_held=$z_kept
}

# Whether something is mounted at or below a directory. Of a bind mount, st_dev is that of the directory: -xdev goes into it.
z_is_mounted_on() {
  [ -r /proc/self/mountinfo ] || return 1
  z_at=$(cd -P -- "$1" 2>/dev/null && pwd -P) || return 1
  case $z_at in
    *[\\\ \	]*) z_at=$(printf '%s\n' "$z_at" | sed 's/\\/\\134/g; s/ /\\040/g; s/	/\\011/g') ;;
  esac
  while read -r z_1 z_2 z_3 z_4 z_place z_rest; do
    case $z_place/ in "$z_at"/*) return 0 ;; esac
  done </proc/self/mountinfo
  return 1
}

z_end() { # SIGNAL
  if [ -n "$z_pid" ]; then kill "-$1" "$z_pid" 2>/dev/null; else z_wish=$1; fi
}

# One step, in a process of its own, which waits for it. coreutils' timeout gives the command a process group and the
# usual meaning of SIGINT, which `&` took away.
z_job() { # ID TIMEOUT KEEP STEP OUT; the command is z_command
  z_pid='' z_wish='' z_began=0 z_over=0
  trap 'z_end TERM' TERM
  trap 'z_is_killed=1; z_end KILL' USR2
  z_log=$z_folder/$5/$4
  if { [ -d "$z_folder/$5" ] || mkdir -p -- "$z_folder/$5"; } && cd -P -- "$z_base"; then
    if z_replaced; then
      echo "$z_path is not the directory that this run made" >"$z_log.err"
      z_code=126
    else
      if [ "$3" != lose ]; then z_stdout=$z_log.out z_stderr=$z_log.err; else z_stdout=/dev/null z_stderr=/dev/null; fi
      z_read_uptime
      z_began=$z_up
      RUN=$z_run OUT=$z_folder/$5 ZLANG_RUN=$z_run ZLANG_STEP=$4 \
        timeout -k 5 "$2" sh -c "$z_command" </dev/null >"$z_stdout" 2>"$z_stderr" 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&- &
      z_pid=$!
      [ -z "$z_wish" ] || kill "-$z_wish" "$z_pid" 2>/dev/null
      wait "$z_pid"
      z_code=$?
      while kill -0 "$z_pid" 2>/dev/null; do # a signal to us ends `wait`, not the process
        wait "$z_pid"
        z_code=$?
      done
      z_read_uptime
      z_over=$z_up
      if [ "$z_code" -ne 0 ] || [ -n "$z_is_killed" ]; then z_sweep "$5" "$4" || z_code=125; fi
      if [ "$z_code" -eq 0 ] && z_replaced; then
        echo "$z_path was replaced: it is no longer what this run created" >>"$z_log.err"
        z_code=126
      fi
    fi
  else
    z_code=126
  fi
  z_full=''
  if [ "$z_code" -ne 0 ] && [ -d "$z_folder" ]; then
    head -c 65536 /dev/zero 2>/dev/null >"$z_folder/room.$1" || z_full=' full'
    rm -f -- "$z_folder/room.$1"
  fi
  if [ "$3" = time ] || [ "${z_over%.*}" != "${z_began%.*}" ]; then z_now; else z_wall=0; z_read_uptime; fi
  printf 'ended %s %s %s %s %s %s%s\n' "$1" "$z_code" "$z_wall" "$z_up" "$z_began" "$z_over" "$z_full"
}

# Whether a directory has few names, and no directory: a process of `find` would cost more than to look at each.
z_is_small() { # NAMES
  [ $# -lt 200 ] || return 1
  for z_each; do
    if [ -d "$z_each" ] && ! [ -L "$z_each" ]; then return 1; fi
  done
}

# Removes the files of directories of the run, but `made` and `leaves`: the arguments become those of one `rm`.
z_drop() { # OUT...
  z_is_mounted='' z_count=$#
  if z_is_mounted_on "$z_folder"; then z_is_mounted=1; fi
  while [ "$z_count" -gt 0 ]; do
    z_out=$z_folder/$1
    shift
    z_count=$((z_count - 1))
    if [ -n "$z_is_mounted" ] && z_is_mounted_on "$z_out"; then continue; fi
    if z_is_small "$z_out"/* "$z_out"/.[!.]* "$z_out"/..?*; then
      for z_each in "$z_out"/* "$z_out"/.[!.]* "$z_out"/..?*; do
        case ${z_each##*/} in made | leaves) continue ;; esac
        if [ -f "$z_each" ] && ! [ -L "$z_each" ]; then set -- "$@" "$z_each"; fi
      done
    else
      find "$z_out" -xdev -type f ! -name made ! -name leaves -exec rm -f -- {} +
    fi
  done
  [ $# -eq 0 ] || rm -f -- "$@"
}

z_forget() {
  find "$z_folder" -xdev ! -type d -exec rm -f -- {} +
  find "$z_folder" -xdev -depth -type d -exec rmdir -- {} +
  if [ -e "$z_base/.made-by-zlang" ] && [ "$(ls -A "$z_base")" = .made-by-zlang ]; then
    IFS= read -r z_top <"$z_base/.made-by-zlang" || z_top=$z_base
    rm -f -- "$z_base/.made-by-zlang"
    rmdir -- "$z_base"
    z_above=${z_base%/*}
    while case $z_above/ in "$z_top"/*) ;; *) false ;; esac && rmdir -- "$z_above"; do z_above=${z_above%/*}; done
  fi
}

# Of a visit, which creates nothing, no run folder tells a later command that it was there.
z_leave() {
  case $z_run in visit-*) z_forget ;; esac
}

# Ends everything when no beat has come for z_dead seconds: the link is cut, and the coordinator counts nothing any more.
z_watch() {
  trap 'z_fed=1' USR1
  trap 'kill -KILL "$!" 2>/dev/null; exit 0' TERM
  while :; do
    z_fed=''
    sleep "$z_dead" &
    z_nap=$!
    # A signal ends `wait`, but bash does not always run the trap: it forgets a signal that comes while the trap runs.
    if ! wait "$z_nap"; then
      kill -KILL "$!" 2>/dev/null
    elif [ -z "$z_fed" ]; then
      break
    fi
  done
  z_sweep
  z_leave
  kill -KILL $$ # not STOP before: a sudo above it would stop, too, and stay
  z_sweep       # a line that came meanwhile may have started something
}

for z_tool in sed timeout find grep dd head sha256sum wc; do
  command -v "$z_tool" >/dev/null 2>&1 || refuse "it has no $z_tool: install coreutils, findutils, grep and sed, or busybox"
done
z_reason=$(sh -c : 2>&1 | head -n 1)
[ -z "$z_reason" ] || refuse "its sh prints \`$z_reason\` before the output of every command"
if ! [ -d "$z_base" ]; then
  z_top=$z_base
  while z_above=${z_top%/*} && [ -n "$z_above" ] && ! [ -e "$z_above" ]; do z_top=$z_above; done
  z_reason=$(mkdir -p -- "$z_base" 2>&1) || refuse_directory "the directory $z_base cannot be made: ${z_reason##*: }"
  (cd -P -- "$z_top" && pwd -P) >"$z_base/.made-by-zlang"
  z_is_new=1
fi
z_user=$(id -u)
[ -n "$(find "$z_base" -prune -type d -user "$z_user" ! -perm -0002 ! -perm -0020 2>/dev/null)" ] ||
  refuse_directory "$z_base is a link, belongs to another user, or can be written to by others"
# Whoever owns a directory above, or can write to it, can replace what is in it. Then root would write and remove somewhere else.
# From here on, the path has no links that others could replace. The group bits of an access list are the most that it permits.
z_above=$(cd -P -- "$z_base" && pwd -P && echo .) || refuse_directory "the directory $z_base cannot be entered"
z_base=${z_above%??}
z_folder=$z_base/$z_run z_above=$z_base
while [ "$z_user" = 0 ] && [ -n "$z_above" ]; do
  z_open=$(find "$z_above" -prune \( ! -user 0 -o ! -perm -1000 \( -perm -0002 -o -perm -0020 ! -group 0 \) \) || echo unknown)
  case $(ls -ld -- "$z_above") in d????w???[!tT]+*) z_open=$z_above ;; esac
  [ -z "$z_open" ] || refuse_directory "another user can write to $z_above, and replace what is in it"
  z_above=${z_above%/*}
done
z_reason=$(umask 077 && mkdir -p -- "$z_folder" 2>&1) || refuse_directory "the directory $z_folder cannot be made: ${z_reason##*: }"

# The agents of a run share a lock on its folder. A visit measures nothing, so it may be there beside a run.
z_other_run() {
  for z_each in "$z_base"/*-????????-??????-????; do
    if [ "${z_each##*/}" = "$z_run" ] || [ -L "$z_each" ] || ! [ -d "$z_each" ]; then continue; fi
    flock -n "$z_each" true 2>/dev/null
    [ $? -ne 1 ] || return 0
  done
  return 1
}
case $z_run in
  visit-*) ;;
  *)
    if command -v flock >/dev/null 2>&1 && exec 3<"$z_folder" && flock -n -s 3; then
      z_count=0
      while z_other_run; do # an agent whose coordinator was killed needs a moment
        if [ "$z_count" -gt 50 ]; then
          rmdir -- "$z_folder" 2>/dev/null
          refuse "the run ${z_each##*/} works there: wait until it has ended"
        fi
        z_count=$((z_count + 1))
        sleep 0.1 2>/dev/null || sleep 1
      done
    fi
    ;;
esac

z_stat='stat --format=%i:%W'
$z_stat . >/dev/null 2>&1 || z_stat='ls -di'
z_boot=-
if [ -r /proc/sys/kernel/random/boot_id ]; then read -r z_boot </proc/sys/kernel/random/boot_id; fi
trap : PIPE # an answer that nobody hears must not end this shell before it has removed what it made
trap '' USR1 # ignored until the watch has a trap of its own: a line may come before, and would end it
z_watch </dev/null >/dev/null 2>&1 &
z_dog=$!
trap - USR1
printf '\nready %s %s %s\n' "$z_token" "$z_boot" "$z_user"
exec 2>/dev/null # a message of a tool may come in parts, and an answer between two of them would not be heard

while IFS=' ' read -r z_verb z_id z_rest; do
  case $z_verb in
    beat) kill -USR1 "$z_dog" 2>/dev/null ;;
    clock)
      z_now
      printf 'clock %s %s %s\n' "$z_id" "$z_wall" "$z_up"
      ;;
    run)
      set -- $z_rest # TIMEOUT BYTES KEEP STEP OUT NAME=BYTES...
      z_take "$2"
      z_command=$z_text
      z_timeout=$1 z_keep=$3 z_step=$4 z_out=$5
      shift 5
      for z_each; do
        z_take "${z_each#*=}"
        export "${z_each%%=*}=$z_text"
      done
      z_job "$z_id" "$z_timeout" "$z_keep" "$z_step" "$z_out" </dev/null &
      eval "z_job_$z_id=\$!"
      ;;
    stop) eval "kill -TERM \"\$z_job_$z_id\"" 2>/dev/null ;;
    kill) eval "kill -USR2 \"\$z_job_$z_id\"" 2>/dev/null ;;
    hold) z_hold "$z_id" ;;
    release) z_release "$z_id" ;;
    drop) z_drop "$z_id" $z_rest ;;
    sweep)
      if z_sweep; then printf 'swept %s\n' "$z_swept"; else printf 'stuck%s\n' "$z_found_pids"; fi
      ;;
    forget)
      if z_is_mounted_on "$z_folder"; then
        printf 'forgotten mounted\n'
        continue
      fi
      z_forget
      printf 'forgotten\n'
      ;;
  esac
done
kill -TERM "$z_dog" 2>/dev/null
z_sweep
z_leave
exit 0
