# ---- Meeting other machines: each carries out its own script, and all begin trial N at MEET + (N - 1) * EVERY ----

z_meets=1

# The run has the same name on all machines, because they use the resources of each other by this name.
z_stamp() {
  date -u -d "@$z_first" +%Y%m%d-%H%M%S 2>/dev/null || date -u -r "$z_first" +%Y%m%d-%H%M%S
}

z_four_digits() {
  printf '%.4s' "$z_plan"
}

z_set_meetings() {
  [ "$z_mode" = run ] || return 0
  z_first=${MEET:-} z_every=${EVERY:-600}
  z_prepare=${PREPARE:-$((z_every / 2))}
  for z_each in "$z_first" "$z_every" "$z_prepare"; do
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

# NUMBER IDENTITY REPLICATE; wait until the trial may be prepared; fails if its start time has passed.
meeting() {
  [ "$z_mode" = run ] || return 0
  [ ! -e "$z_dir/.done/$2.$3" ] || return 1
  z_instant=$((z_first + ($1 - 1) * z_every)) z_number=$1
  if [ "$(date +%s)" -ge "$z_instant" ]; then
    z_say "trial $1 of $2 should have begun before now, so it is skipped: start all scripts again with a later MEET"
    return 1
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
