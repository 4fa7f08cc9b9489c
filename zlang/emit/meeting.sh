# ---- Meeting other machines: each carries out its own script, and all begin trial N at MEET + (N - FROM) * EVERY ----

z_meets=1

# The run has the same name on all machines, because they use the resources of each other by this name.
z_stamp() {
  date -u -d "@$z_first" +%Y%m%d-%H%M%S 2>/dev/null || date -u -r "$z_first" +%Y%m%d-%H%M%S
}

z_four_digits() {
  printf '%.4s' "$z_plan"
}

# A machine that has carried out every trial goes on in its folder, too, because another one may lack some of them.
z_is_finished() { false; }

z_set_meetings() {
  [ "$z_mode" = run ] || return 0
  z_first=${MEET:-} z_every=${EVERY:-600} z_from=${FROM:-1}
  z_prepare=${PREPARE:-$((z_every / 2))}
  for z_each in "$z_first" "$z_every" "$z_prepare" "$z_from"; do
    case $z_each in
      '' | *[!0-9]* | 0*) z_usage "say when all machines begin, in seconds since 1970: MEET=$(($(date +%s) + 300)) EVERY=600 PREPARE=300 sh $0" ;;
    esac
  done
  [ "$z_prepare" -lt "$z_every" ] || z_usage 'PREPARE (the time before a trial) must be less than EVERY (the time from one trial to the next)'
}

z_await() { # SECONDS of the wall clock
  while [ "$(date +%s)" -lt "$1" ]; do
    z_check
    sleep 0.2 2>/dev/null || sleep 1
  done
}

# NUMBER IDENTITY REPLICATE; wait until the trial may be prepared; fails if its start time has passed. A trial that this
# machine carried out at another time is carried out again: the other machines may lack it.
meeting() {
  [ "$z_mode" = run ] || return 0
  [ "$1" -ge "$z_from" ] || return 1
  z_instant=$((z_first + ($1 - z_from) * z_every)) z_number=$1 z_mark=$z_dir/.done/$2.$3
  if [ "$(date +%s)" -ge "$z_instant" ]; then
    [ -e "$z_mark" ] || z_say "trial $1 should have begun before now, so it is skipped: start all scripts again with a later MEET, and FROM=$1"
    return 1
  fi
  if [ -e "$z_mark" ]; then
    case $(cat "$z_mark") in fail) z_failed=$((z_failed - 1)) ;; esac
    z_done=$((z_done - 1))
    rm -f "$z_mark"
  fi
  z_await $((z_instant - z_prepare))
}

# The resources on other machines exist when half of the time has passed.
prepared() {
  printf '%s\n' "$z_instant" >"$z_dir/$z_out/instant" || z_lose
  if [ "$(date +%s)" -gt $((z_instant - z_prepare / 2)) ]; then
    step meeting 60 'echo "this machine was not ready in time: make PREPARE longer" >&2; exit 1'
    return 1
  fi
  z_await $((z_instant - z_prepare / 2))
}

# Write the start time for a step that waits for it, when the step is ready.
z_tell_instant() { # DIRECTORY OVER
  until [ -e "$1/gate/met" ]; do sleep 0.05 2>/dev/null || sleep 1; done
  if [ "$(date +%s)" -ge "$z_instant" ]; then : >"$1/late"; fi
  printf '%s\n' "${z_instant}000000000" >"$1/gate/instant"
  # A machine that has only events does not learn when the workloads on other machines have ended.
  [ "$2" = over ] || return 0
  while [ "$(date +%s)" -lt $((z_instant + (z_every - z_prepare) * 3 / 4)) ]; do sleep 1; done
  : >"$1/gate/over"
}

meet() { # NAME TIMEOUT COMMAND; measure from the instant on
  z_teller=
  case $3 in
    *'"$gate/instant"'*)
      z_over=
      case $3 in *'"$gate/over"'*) z_over=over ;; esac
      z_tell_instant "$z_dir/$z_out" "$z_over" 9>&- &
      z_teller=$!
      ;;
    *)
      if [ "$(date +%s)" -ge "$z_instant" ]; then : >"$z_dir/$z_out/late"; fi
      z_await "$z_instant"
      ;;
  esac
  z_most=$((z_instant + z_every - z_prepare - $(date +%s)))
  [ "$z_most" -le "$2" ] || z_most=$2
  step "$1" "$z_most" "$3"
  z_met=$?
  [ -z "$z_teller" ] || kill "$z_teller" 2>/dev/null
  [ "$z_met" -eq 0 ] || return 1
  [ -e "$z_dir/$z_out/late" ] || return 0
  echo 'this machine was ready only after the common start: make PREPARE longer' >>"$z_dir/$z_out/$1.err"
  z_bad_step=$1 z_bad_out=$z_out z_bad_rc=1
  return 1
}

# Wait until the measurements on other machines must have ended.
all_ended() {
  z_await $((z_instant + z_every - z_prepare))
}
