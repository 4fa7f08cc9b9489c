-- The runs, the latest first
select run, experiment, started, planned, done, valid, finished from runs order by last_session desc
