-- The columns of `trials`, with their units
select name, role, type, unit, description from "columns"
where experiment = (select experiment from runs order by last_session desc, run desc limit 1) order by position
