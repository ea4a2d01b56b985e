-- What at least two hosts of a model have in common, worst and most frequent first: the groups of `narrows --fleet`.
-- For the views of duckdb.sql or spark.sql (docs/fleet.md).
WITH hosts AS (
    SELECT host,
        CASE WHEN lower(trim(product)) IN ('super server', 'all series', 'system product', 'server') AND board IS NOT NULL
            THEN board ELSE coalesce(product, board) END AS model
    FROM fleet
    WHERE record = 'host' AND failure IS NULL AND coalesce(change, '') <> 'gone'
), sizes AS (
    SELECT model, count(*) AS hosts FROM hosts GROUP BY model
), found AS (
    SELECT DISTINCT h.model, f.host, f.severity, f.code, f.place, f.state
    FROM fleet f JOIN hosts h ON h.host = f.host
    WHERE f.record = 'finding' AND f.severity IN ('fault', 'limit') AND coalesce(f.change, '') <> 'gone'
)
SELECT found.model, max(sizes.hosts) AS of_hosts, count(*) AS affected, found.code, found.severity, found.place, found.state
FROM found JOIN sizes ON sizes.model IS NOT DISTINCT FROM found.model
GROUP BY found.model, found.code, found.severity, found.place, found.state
HAVING count(*) > 1
ORDER BY found.model IS NULL, found.severity, affected DESC, found.code, found.place
