"""The product, from top to bottom: what the command line, or any other face of zlang, calls.

Each part has a file and takes the output of those above it:

    checked = programs.check(programs.read("study.zexp"), overrides)        # a program, and what is wrong with it
    findings = programs.lint(checked)                                       # what is wrong with its measurements
    planned = plans.plan(checked, programs.choose(checked, None), seed, overrides)
    plans.emit(planned, "sh")                                               # the plan as a script, JSON or a runbook
    differences.difference(one, other)                                      # two plans beside each other
    arming.require_tools(planned.plan.header.tools)                         # what has to be there and be allowed
    costs.estimate(planned, db)                                             # how long it takes, and what it writes
    folder = runs.begin(planned, runs_dir, armed, found, expected)          # a run folder
    submissions.submit(folders, lanes, options)                             # parts of a plan, each with a task of Slurm
    runs.carry_out(folder, selection)                                       # events, and its journal
    outside.import_csv(folder, "results.csv")                               # what somebody else has measured
    results.ingest(runs_dir, db)                                            # run folders become a database
    results.query(db, "SELECT …")                                           # and answer questions
    reports.write_report(db, run, runs_dir, "html", target)                 # a run on a page

The package itself names nothing, so a command imports only the parts that it calls.
"""
