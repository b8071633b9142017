-- For the sqlite3 command line: sqlite3 {{ paths.segment(report.name) }}.sqlite < {{ paths.segment(report.name) }}.sql

-- What works, newest release of the subject first: the versions of each cell side by side.
.headers on
.mode column
SELECT cells.id, cells.state, cells.tested, cells.latest,
       group_concat(coordinates.axis || ' ' || coordinates.version, ', ') AS versions
FROM cells JOIN coordinates ON coordinates.cell = cells.id
WHERE cells.verdict = 'works'
GROUP BY cells.id
ORDER BY max(CASE WHEN coordinates.axis = '{{ subject }}' THEN coordinates.place END) DESC;

-- Which capabilities ever failed, in how many cells, and with which outcome of the cell.
SELECT capabilities.capability, count(DISTINCT runs.cell) AS cells, group_concat(DISTINCT
    runs.outcome) AS outcomes
FROM capabilities JOIN runs ON runs.id = capabilities.run
WHERE capabilities.status = 'no'
GROUP BY capabilities.capability
ORDER BY cells DESC, capabilities.capability;
