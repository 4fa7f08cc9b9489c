"""Rules about a load that differs from the one that the program describes."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, pairwise

from zlang.check import hosts
from zlang.lint.rule import ERROR, NOTE, WARNING, Rules, TrialFinding, share, size, times, write
from zlang.lint.trial import Thing, TrialView, formulas
from zlang.record import Record

RULES = Rules()
_SMALL = 65536
_FULL = Fraction(8, 10)
_MIB = Fraction(2**20)


@RULES.add("ZL039", "iodepth-without-async", WARNING)
def depth_without_queue(trial: TrialView) -> TrialFinding | None:
    """`iodepth` has no effect with a synchronous engine.

    `sync`, `psync`, `mmap` and similar engines return when the operation is complete. There is never more than one
    operation in flight, whatever `iodepth` says. Trials that differ only in `iodepth` measure the same thing.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  iodepth = 1 | 32 }
    experiment queued { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  numjobs = 1 | 32 }
    experiment queued { on = data  run = reads  cache = cold  repeat = 3 }
    ```
    """
    run = trial.run
    depth = run.number("depth")
    if depth is None or depth == 1 or not run.is_("waits"):
        return None
    message = f"a depth of {depth} has no effect: the engine waits for each operation"
    return TrialFinding(run, ("depth",), message, _to_overlap(run))


@RULES.add("ZL040", "buffered-async-is-sync", WARNING)
def buffered_queue(trial: TrialView) -> TrialFinding | None:
    """`libaio` is synchronous unless it bypasses the page cache.

    Through the page cache, and always in a file on ZFS, libaio's submission call returns when the operation is
    complete. fio still reports the depth that was set, and a latency of that many operations. With a depth of 32, the
    device had 0.51 operations in flight (measured). A study of 2017 shows the effect: IOPS do not grow with the depth,
    and latencies do.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  ioengine = libaio  iodepth = 2..16 by *2 }
    experiment flat { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  ioengine = libaio  iodepth = 2..16 by *2  direct = on }
    experiment queued { on = data  run = reads  cache = cold  repeat = 3 }
    ```
    """
    run = trial.run
    depth = run.number("depth")
    if depth is None or depth == 1 or not run.is_("queues_uncached"):
        return None
    own, queue = trial.having("own_cache"), trial.having("queues")
    if own is not None and own.is_("own_cache") and not (queue is not None and queue.is_("queues")):
        message = f"a depth of {depth} has no effect on `{own.name}`: the engine waits for each operation there"
        return TrialFinding(run, ("depth",), message, _to_overlap(run))
    if run.is_("uncached"):
        return None
    message = f"a depth of {depth} has no effect through the page cache: the engine waits for each operation there"
    return TrialFinding(run, ("depth",), message, _to_overlap(run, run.advice("to_bypass")))


def _to_overlap(run: Thing, *forms: str) -> str:
    """A hint how to have several operations in flight."""
    hint, workers = write(*forms, run.advice("to_queue")), run.advice("to_add_workers")
    return f"{hint}, or use several workers (`{workers}`)" if hint and workers else hint or "use several workers"


@RULES.add("ZL047", "shared-link-or-nfs-size", NOTE)
def small_transfers(trial: TrialView) -> TrialFinding | None:
    """Small requests over a network measure the network.

    A mount with `rsize = 8192` splits a read of 128 KiB into 16 requests. A study of 2017 compared file systems behind
    such a mount, and saw mostly the network.

    ```zexp wrong
    import fio

    kind remote: resource on dir {
      doc = "A directory of another machine."
      property rsize: size { default = 1MiB  doc = "the most that one request reads" }
      offers dir = "{on.dir}"
      trait transfer = rsize
      create { sh "echo {rsize}" { why = "mount it" } }
      destroy { sh "true" { why = "unmount it" } }
    }
    dir here { path = "." }
    remote share on here { rsize = 8KiB }
    file data on share { size = 1GiB }
    fio reads { rw = read  bs = 128KiB }
    experiment far { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    kind remote: resource on dir {
      doc = "A directory of another machine."
      property rsize: size { default = 1MiB  doc = "the most that one request reads" }
      offers dir = "{on.dir}"
      trait transfer = rsize
      create { sh "echo {rsize}" { why = "mount it" } }
      destroy { sh "true" { why = "unmount it" } }
    }
    dir here { path = "." }
    remote share on here
    file data on share { size = 1GiB }
    fio reads { rw = read  bs = 128KiB }
    experiment far { on = data  run = reads  cache = cold }
    ```
    """
    trait = "transfer" if trial.run.is_("reads") else "transfer_of_writes"
    behind, block = trial.having(trait), trial.run.number("block")
    transfer = behind.number(trait) if behind else None
    if behind is None or transfer is None or block is None or block <= transfer or transfer >= _SMALL:
        return None
    message = f"each operation of {size(block)} is split into {times(block / transfer)} requests of {size(transfer)}"
    return TrialFinding(behind, (trait,), message, "use larger requests, or make their size a factor")


@RULES.add("ZL042", "over-capacity", ERROR)
def over_capacity(trial: TrialView) -> TrialFinding | None:
    """The data do not fit.

    The run would fail while it writes the data. zlang does not know how much space a file system uses for
    itself, so a file that barely fits may not fit either. It does know how much space some file systems need at
    least: xfs needs 300 MiB. The quota of a dataset limits the room, too, and each of
    several `copies` of a block needs its own.

    ```zexp wrong
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    ext4 volume on disk
    file data on volume { size = 2GiB }
    fio reads { rw = randread }
    experiment full { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 4GiB }
    ext4 volume on disk
    file data on volume { size = 2GiB }
    fio reads { rw = randread }
    experiment room { on = data  run = reads  cache = cold }
    ```
    """
    for thing, beneath in pairwise(trial.beneath):
        least, most = thing.number("needs_below"), beneath.number("capacity")
        if least and most and most < least:
            message = f"`{thing.name}` needs at least {size(least)}, and `{beneath.name}` has {size(most)}"
            return TrialFinding(beneath, ("capacity",), message, f"give `{beneath.name}` {size(least)} or more")
    fullest = _fullest(trial, ("capacity", "limit", "own_limit"))
    if fullest is None or fullest.part <= 1:
        return None
    holding, room = fullest.holding, fullest.thing
    together = fullest.held > (holding.number("holds") or 0)
    holds = f"`{holding.name}` and what is measured with it hold" if together else f"`{holding.name}` holds"
    copies = f", {size(fullest.taken)} with all copies" if fullest.taken != fullest.held else ""
    message = f"{holds} {size(fullest.held)}{copies}, and `{room.name}` has room for {size(fullest.most)}"
    limit = "" if fullest.trait == "capacity" else f"`{room.word(fullest.trait)}` of "
    return TrialFinding(holding, ("holds",), message, f"make `{holding.name}` smaller, or {limit}`{room.name}` larger")


@RULES.add("ZL081", "beyond-the-target", ERROR)
def beyond_the_target(trial: TrialView) -> TrialFinding | None:
    """The workload goes past the end of its target.

    fio would have to make the file larger, and would then measure a different file from the one that was laid out.
    zlang does not permit that, so each of these trials would fail. If each job has a part of its own, the part of the
    last job decides: it begins at `offset + offset_increment * (numjobs - 1)`.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 64MiB }
    fio reads { rw = randread  offset = 48MiB  size = 32MiB }
    experiment tail { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 64MiB }
    fio reads { rw = randread  offset = 48MiB  size = 16MiB }
    experiment tail { on = data  run = reads  cache = cold }
    ```
    """
    run, target = trial.run, trial.target
    overrun = run.number("overrun")
    if not overrun or target is None:
        return None
    message = f"`{run.name}` goes {size(overrun)} past the end of `{target.name}`"
    return TrialFinding(
        run, ("overrun",), message, f"make `{target.name}` larger, or let the workload use a smaller part"
    )


@RULES.add("ZL058", "pool-too-full", WARNING)
def too_full(trial: TrialView) -> TrialFinding | None:
    """A file system that is nearly full behaves differently.

    The last free blocks take longer to find and are scattered. Oracle's advice for ZFS was to stay below 80 %.
    OpenZFS searches for the best place instead of the first one when less than 4 % is free. If the levels of a factor
    fill the file system to different degrees, that difference is measured too: make the fill level a factor.

    ```zexp wrong
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    xfs volume on disk
    file data on volume { size = 900MiB }
    fio reads { rw = randread }
    experiment full { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    xfs volume on disk
    file data on volume { size = 512MiB }
    fio reads { rw = randread }
    experiment half { on = data  run = reads  cache = cold }
    ```
    """
    fullest = _fullest(trial, ("capacity",))
    if fullest is None or not _FULL < fullest.part <= 1:
        return None
    holding, taken, part = fullest.holding, fullest.taken, share(round(fullest.part, 2))
    message = (
        f"{size(taken)} fills {part} of `{fullest.thing.name}`, and a resource that is nearly full behaves differently"
    )
    most = _FULL * fullest.most * fullest.held / taken
    hint = f"store at most {size(most // _MIB * _MIB)}, or make the fill level a factor"
    return TrialFinding(holding, ("holds",), message, hint)


class _Room(Record):
    """Something in which data are stored.

    By one of its traits `most` bytes fit into it. The data are `held` bytes, and occupy `taken` with all copies.
    """

    thing: Thing
    trait: str
    most: Fraction
    holding: Thing
    held: Fraction
    taken: Fraction

    @property
    def key(self) -> tuple[str, str]:
        return self.thing.instance.key, self.trait

    @property
    def part(self) -> Fraction:
        return self.taken / self.most


def _fullest(trial: TrialView, traits: tuple[str, ...]) -> _Room | None:
    """The room that the data of all streams fill most; of several streams in it, only for the first."""
    if len(trial.streams) == 1:
        streams = [_rooms(trial, traits)]
    else:
        streams = trial.of_streams((_rooms, traits), lambda: [_rooms(view, traits) for view in trial.views])
    result = []
    for room in streams[trial.stream]:  # not those of `trial.target`, which can be a thing of several machines
        within = dict[str, _Room]()
        for each in chain(*streams):
            if each.key == room.key:
                within.setdefault(each.holding.instance.key, each)
        if next(iter(within)) == room.holding.instance.key:
            rooms = list(within.values())
            held, taken = (sum((getattr(each, amount) for each in rooms), Fraction(0)) for amount in ("held", "taken"))
            result.append(room.replace(held=held, taken=taken))
    return max(result, key=lambda room: room.part, default=None)


def _rooms(trial: TrialView, traits: tuple[str, ...]) -> list[_Room]:
    """All in which the data of one stream are stored; nothing if their size is unknown, or they shrink."""
    holding = trial.having("holds")
    held = holding.number("holds") if holding else None
    if holding is None or held is None or trial.target is None or holding.is_("constant") or holding.number("saves"):
        return []
    if holding.number("repeats") and any(thing.is_("dedups") for thing in trial.beneath):
        return []
    storing = {thing.instance.key for thing in trial.beneath}
    nearest, taken, result = trial.having("own_limit"), held, list[_Room]()
    for thing in trial.target.stack:
        if thing.instance.key in storing:
            taken *= thing.number("stored_copies") or 1
        for trait in traits:
            most = thing.number(trait)
            is_nearest = nearest is not None and nearest.instance.key == thing.instance.key
            if most and not thing.is_inherited(trait) and (trait != "own_limit" or is_nearest):
                result.append(_Room(thing=thing, trait=trait, most=most, holding=holding, held=held, taken=taken))
    return result


@RULES.add("ZL041", "closed-loop-latency", NOTE)
def closed_loop(trial: TrialView) -> TrialFinding | None:
    """A closed-loop load hides slow answers.

    Each worker submits its next operation when the previous one is complete. While the device stalls, nothing is
    submitted, and the operations that would have waited are missing from the percentiles. This is called coordinated
    omission. Users who do not wait for each other see worse latencies than these percentiles (Schroeder, Wierman and
    Harchol-Balter, Open versus closed, NSDI 2006).

    If you know the rate that users need, use it. If you do not, measure the highest rate of the device without a rate
    limit, and then use shares of it, such as 25, 50, 75 and 90 %. Below the knee, latencies hardly change with the
    rate. At 100 % and above, the queue grows for as long as you measure, and the percentiles only show how
    long you measured.

    A job of fio starts no operation while it waits for a slow one. So use many jobs with a small rate each: while one
    waits, the others go on. fio applies the rate to each job: with `numjobs = 16`, set a sixteenth of it. With
    `io_submit_mode = offload`, fio does not wait for slow operations at all. But with this option, fio 3.33 sometimes
    hangs when it starts: in 5 of 20 starts on a busy machine. Later releases fixed other hangs of this option. zlang
    ends such a trial at its timeout, and it does not count.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment closed {
      on    = data
      run   = reads
      cache = cold
      table p99(read_clat)
    }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    let most = 3200/s  # measured without a rate
    let load = 25% | 50% | 75% | 90%
    fio reads { rw = randread  numjobs = 16  rate_iops = load * most / 16  rate_process = poisson }
    experiment open {
      on     = data
      run    = reads
      cache  = cold
      repeat = 5
      table p99(read_clat) by load
    }
    ```
    """
    run = trial.run
    if (
        not run.is_not("paced")
        or run.is_("no_latencies")
        or all(term.op != "percentile" for term in formulas(trial.experiment))
    ):
        return None
    message = "each operation waits for the one before, so stalls of the device are missing from the percentiles"
    pace = run.advice("to_pace")
    return TrialFinding(run, (), message, "add a series at a fixed rate" + (f": `{pace}`" if pace else ""))


@RULES.add("ZL084", "regular-arrivals", NOTE)
def regular_arrivals(trial: TrialView) -> TrialFinding | None:
    """Operations that start at equal intervals do not queue.

    By default, a load at a fixed rate starts its operations at equal intervals. Requests of independent users arrive at
    random, sometimes several at once, and then wait in a queue. A regular load of the same rate never waits like that,
    so its percentiles are better than what users see. A Poisson process starts operations at random intervals with the
    same mean.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  rate_iops = 500/s  time_based = on  runtime = 60s }
    experiment regular {
      on     = data
      run    = reads
      cache  = cold
      repeat = 5
      table p99(read_clat)
    }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  rate_iops = 500/s  rate_process = poisson  time_based = on  runtime = 60s }
    experiment random {
      on     = data
      run    = reads
      cache  = cold
      repeat = 5
      table p99(read_clat)
    }
    ```
    """
    run = trial.run
    is_regular = run.is_("paced") and run.is_("regular") and not run.is_("no_latencies")
    if not is_regular or all(term.op != "percentile" for term in formulas(trial.experiment)):
        return None
    message = "operations start at equal intervals, so they do not queue as the requests of users do"
    advice = run.advice("to_randomize")
    return TrialFinding(run, ("paced",), message, f"add `{advice}`" if advice else "start them at random intervals")


@RULES.add("ZL043", "generator-on-the-server", NOTE)
def generator_competes(trial: TrialView) -> TrialFinding | None:
    """The load generator competes for the processors.

    Compression, checksums and the search for duplicate blocks need processor time, and so does the load generator. On
    one machine they compete: in a study of 2017, a gap of 25 % disappeared when another machine generated the load.

    zlang does not report this if one worker leaves the other processors free, if a collector shows what the
    processors were busy with, or if there is no load.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = off | gzip-9 }
    file data on work { size = 1GiB  content = compressible(50%) }
    fio reads { rw = randread  bs = 128KiB  numjobs = 8 }
    experiment crowded { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio
    import linux
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = off | gzip-9 }
    file data on work { size = 1GiB  content = compressible(50%) }
    fio reads { rw = randread  bs = 128KiB  numjobs = 8 }
    mpstat processors
    experiment watched { on = data  run = reads  cache = cold  repeat = 3  collect = [processors] }
    ```
    """
    run, machine = trial.run, trial.machine
    if run.number("workers") == 1 or not (run.is_("reads") or run.is_("modifies")):
        return None
    origin = run.instance.origin
    if origin is not None and machine is not None and origin.key != machine.instance.key:
        return None
    if any(thing.is_("remote") for thing in trial.beneath) or any(
        collector.is_("counts_cpu") for collector in trial.collectors
    ):
        return None
    for thing in trial.beneath:
        for trait, subject in _BUSY.items():
            if (trait != "dedups" or run.is_("modifies")) and thing.factors(trait):
                message = f"trials differ in {subject}, which competes for processors with the load on the same machine"
                return TrialFinding(
                    thing, (trait,), message, "run the load on another machine, or add a collector that records CPU use"
                )
    return None


@RULES.add("ZL082", "client-on-the-server", WARNING)
def client_is_the_server(trial: TrialView) -> TrialFinding | None:
    """One of several clients is the server.

    The others reach the data over the network. This one does not, and its load generator takes processor time from
    the server. The sum over all clients then adds up two different loads.

    ```zexp wrong
    import fio

    host node { members = ["n1".."n4"]  link = 10Gbit/s }
    let server = first(node)
    dir share on server { path = "." }
    file data on share { size = 1GiB }
    fio reads { rw = randread  from = node  time_based = on  runtime = 60s }
    experiment clients { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio

    host server { link = 10Gbit/s }
    host client { members = ["n2".."n4"] }
    dir share on server { path = "." }
    file data on share { size = 1GiB }
    fio reads { rw = randread  from = client  time_based = on  runtime = 60s }
    experiment clients { on = data  run = reads  cache = cold  repeat = 3 }
    ```
    """
    run = trial.run
    places = [(hosts.carrier(each.workload, each.on), hosts.host_of(each.on)) for each in trial.streams]
    keys = [(client.key, server.key) for client, server in places if client and server]
    local = [client for client, server in keys if client == server]
    if not any(client != server and server in local for client, server in keys):
        return None
    name = next(client.label for client, server in places if client and server and client.key == server.key)
    message = f"`{name}` serves the data, and is also one of the clients that read or write them"
    return TrialFinding(run, (), message, "leave the server out, or compare it with the other clients by a factor")


@RULES.add("ZL083", "one-switch", NOTE)
def machines_share_the_network(trial: TrialView) -> TrialFinding | None:
    """Machines that work at the same time share the way to their data.

    Trials on machines that have nothing in common run at the same time. The data may be on a server that the program
    does not name, or a load may come from another machine. Then one switch or one server can slow all of them down,
    and a machine looks slower because of its neighbour. zlang cannot see that. Machines with the same text in
    `shares` work one at a time; so do all with `--lanes 1`.

    zlang does not report this if the trials have a declared host in common: then they are never carried out at the
    same time.

    ```zexp wrong
    import fio

    host c1
    host c2
    host s1
    host s2
    let server = s1 | s2
    dir share on server { path = "." }
    file data on share { size = 1GiB }
    fio reads { rw = randread  from = if server is s1 then c1 else c2 }
    experiment servers { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio

    host c1
    host c2
    host s1 { shares = "switch" }
    host s2 { shares = "switch" }
    let server = s1 | s2
    dir share on server { path = "." }
    file data on share { size = 1GiB }
    fio reads { rw = randread  from = if server is s1 then c1 else c2 }
    experiment servers { on = data  run = reads  cache = cold  repeat = 3 }
    ```
    """
    run, target = trial.run, trial.target
    if target is None:
        return None
    client, server = hosts.carrier(run.instance, target.instance), hosts.host_of(target.instance)
    if client is None or server is None:
        return None
    is_remote = client.key != server.key or any(thing.is_("remote") for thing in trial.beneath)
    if not is_remote or len(hosts.lanes(trial.experiment)) == 1:
        return None
    machine = Thing(client)
    message = (
        f"trials on `{machine.name}` and on other machines run at the same time, over a network that they may share"
    )
    form = write(machine.advice("to_take_turns"))
    hint = f"if they share a switch or a server, {form} in each host, or add `--lanes 1`"
    return TrialFinding(machine, (), message, hint)


@RULES.add("ZL091", "clients-share-a-link", NOTE)
def clients_share_a_link(trial: TrialView) -> TrialFinding | None:
    """Several clients load one server over a link whose bandwidth is unknown.

    All clients share one switch, and the link of the server. A few clients can fill it, and from then on the program
    measures the network: more clients get no more, whatever the storage could do. If the program states the bandwidth
    of the server's link, tables and reports can compare results with it, and zlang reports results that exceed it.

    ```zexp wrong
    import fio

    host server
    host client { members = ["c1".."c4"] }
    dir share on server { path = "." }
    file data on share { size = 1GiB }
    fio reads { rw = randread  from = client  time_based = on  runtime = 60s }
    experiment clients { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio

    host server { link = 10Gbit/s }
    host client { members = ["c1".."c4"] }
    dir share on server { path = "." }
    file data on share { size = 1GiB }
    fio reads { rw = randread  from = client  time_based = on  runtime = 60s }
    experiment clients { on = data  run = reads  cache = cold  repeat = 3 }
    ```
    """
    servers: dict[str, Thing] = {}
    clients: dict[str, set[str]] = {}
    for stream in trial.streams:
        client, server = hosts.carrier(stream.workload, stream.on), hosts.host_of(stream.on)
        if client and server and client.key != server.key:
            servers[server.key] = Thing(server)
            clients.setdefault(server.key, set()).add(client.key)
    for key, loaded in servers.items():
        if len(clients[key]) > 1 and loaded.number("link") is None:
            message = f"{len(clients[key])} machines load `{loaded.name}` over one link, whose bandwidth is not stated"
            return TrialFinding(loaded, (), message, f"{write(loaded.advice('to_state_link'))} in that host")
    return None


_BUSY = {"compresses": "compression", "dedups": "deduplication", "checks_data": "checksums"}


@RULES.add("ZL048", "numa-and-affinity", NOTE, of_machine=True)
def nodes_are_mixed(trial: TrialView) -> TrialFinding | None:
    """The workload is not bound to a NUMA node.

    On a machine with several NUMA nodes, a worker may run on one node and have its buffers on another. This changes
    from run to run and adds variation. A study of 2017 measured on such a machine.

    ```zexp wrong
    import fio

    host box { nodes = 2 }
    dir here on box { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment anywhere { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    host box { nodes = 2 }
    dir here on box { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  numa_cpu_nodes = "0" }
    experiment bound { on = data  run = reads  cache = cold }
    ```
    """
    machine, run = trial.machine, trial.run
    nodes = machine.number("nodes") if machine else None
    is_bound = any(Thing(wrapper).is_("bound") for wrapper in run.instance.under)
    if machine is None or nodes is None or nodes == 1 or is_bound or not run.is_not("bound"):
        return None
    message = f"`{machine.name}` has {nodes} NUMA nodes: the workload may run on another in each trial"
    return TrialFinding(run, ("bound",), message, f"bind it: `{run.word('bound')} = …`")
