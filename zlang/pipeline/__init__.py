"""The product, from top to bottom: read, check, plan, emit, run, ingest, answer.

Each part takes the output of those above it. The command line and any other face of zlang call what is named here and
nothing below it.
"""

# The order is that of the product:
# isort: off

# A program: its text, what is wrong with it, and the experiment that is meant.
from zlang.pipeline.programs import read as read, read_exactly as read_exactly, format_source as format_source
from zlang.pipeline.programs import mend as mend, rewrite as rewrite, check as check, here as here, lint as lint
from zlang.pipeline.programs import choose as choose

# The plan of an experiment: what is made, each trial, and the plan in every format.
from zlang.pipeline.plans import DEFAULT_SEED as DEFAULT_SEED, Planned as Planned, plan as plan
from zlang.pipeline.plans import contradictions as contradictions, makes as makes, trial as trial, page as page
from zlang.pipeline.plans import require_one_host as require_one_host, require_distinct as require_distinct
from zlang.pipeline.plans import emit as emit, lines as lines, job_forms as job_forms, job_files as job_files

# Two plans beside each other, and the plan that is kept beside its program.
from zlang.pipeline.differences import Side as Side, saved as saved, side as side, said_of as said_of
from zlang.pipeline.differences import difference as difference, edits as edits, snapshot_path as snapshot_path
from zlang.pipeline.differences import keep_plan as keep_plan

# What has to be there, and what somebody has to allow, before a plan is carried out.
from zlang.pipeline.arming import missing_tools as missing_tools, require_tools as require_tools, look as look
from zlang.pipeline.arming import to_arm as to_arm, arm as arm, require_clear as require_clear, arm_again as arm_again

# Runs: their folders, what they have measured, and how they are begun, gone on with and cleared away.
from zlang.pipeline.runs import RUN_LIMIT as RUN_LIMIT, begin as begin, discard as discard, find as find
from zlang.pipeline.runs import all_runs as all_runs, latest_of as latest_of, standing as standing, measured as measured
from zlang.pipeline.runs import left as left, failures as failures, carry_out as carry_out, clean as clean

# What a plan comes to on this machine, and what a run took.
from zlang.pipeline.costs import estimate as estimate, estimates as estimates, outlook as outlook
from zlang.pipeline.costs import require_endurance as require_endurance, free as free, spent as spent

# Runs of what somebody else has measured.
from zlang.pipeline.outside import bring_in_reports as bring_in_reports, begin_outside as begin_outside
from zlang.pipeline.outside import bring_in as bring_in

# The database of results, and what it answers.
from zlang.pipeline.results import ingest as ingest, query as query, session as session, write_parquet as write_parquet
from zlang.pipeline.results import saved_query as saved_query, saved_queries as saved_queries, summarise as summarise
from zlang.pipeline.results import judge as judge, tables as tables, stopping as stopping, plots as plots
from zlang.pipeline.results import compare as compare
from zlang.pipeline.results import effects as effects, findings as findings, draw as draw, write_plots as write_plots

# A run on a page.
from zlang.pipeline.reports import report as report, write_report as write_report
