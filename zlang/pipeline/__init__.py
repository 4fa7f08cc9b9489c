"""All operations of zlang, from top to bottom: the functions that the command line or any other interface calls.

Each part has a file and takes the output of those above it:

    checked = programs.check(programs.read("study.zexp"), overrides)        # the program, with its errors
    findings = programs.lint(checked)                                       # the pitfalls of its measurements
    planned = plans.plan(checked, programs.choose(checked, None), seed, overrides)
    plans.emit(planned, "sh")                                               # the plan as a script, JSON or a runbook
    differences.difference(one, other)                                      # a comparison of two plans
    arming.require_tools(planned.plan.header.tools)                         # an error if a tool is missing
    costs.estimate(planned, db)                                             # the duration, and the amounts written
    folder = runs.begin(planned, runs_dir, armed, found, expected)          # a run folder
    submissions.submit(folders, lanes, options)                             # a task of Slurm for each part of a plan
    runs.carry_out(runs.account(folder), selection)                         # events, and the journal
    outside.import_csv(folder, "results.csv")                               # results that were measured without zlang
    results.ingest(runs_dir, db)                                            # run folders become a database
    results.query(db, "SELECT …")                                           # the answer to a query
    reports.write_report(db, run, runs_dir, "html", target)                 # a run as a page

The package itself imports nothing, so a command loads only the parts that it calls.
"""
