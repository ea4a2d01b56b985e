-- Who differs from nine in ten others of the same model: the outliers of `narrows --fleet`.
-- For the views of duckdb.sql or spark.sql (docs/fleet.md).
WITH hosts AS (
    SELECT host,
        CASE WHEN lower(trim(product)) IN ('super server', 'all series', 'system product', 'server') AND board IS NOT NULL
            THEN board ELSE coalesce(product, board) END AS model
    FROM fleet
    WHERE record = 'host' AND failure IS NULL AND coalesce(change, '') <> 'gone'
), told AS (
    SELECT host, 'bios' AS aspect, CAST(NULL AS VARCHAR(1)) AS place, '' AS device, bios AS value FROM fleet WHERE record = 'host'
    UNION ALL
    SELECT host, 'kernel', NULL, '', kernel FROM fleet WHERE record = 'host'
    UNION ALL
    SELECT host, 'cpu', NULL, '', cpu FROM fleet WHERE record = 'host'
    UNION ALL
    SELECT host, 'memory', NULL, '', concat(CAST(ceil(memory_bytes / 1073741824.0) AS BIGINT), ' GiB')
    FROM fleet WHERE record = 'host' AND memory_bytes IS NOT NULL
    UNION ALL
    SELECT host, 'link_width', place, coalesce(device, ''), concat('x', width) FROM host_links WHERE width IS NOT NULL
    UNION ALL
    -- The speed of a link that saves power says nothing.
    SELECT l.host, 'link_speed', l.place, coalesce(l.device, ''), l.speed
    FROM host_links l LEFT JOIN (SELECT DISTINCT host, place FROM fleet WHERE record = 'finding' AND code = 'power_save') idle
        ON idle.host = l.host AND idle.place = l.place
    WHERE idle.host IS NULL
), traits AS (
    SELECT h.model, t.host, t.aspect, t.place, t.device, min(t.value) AS value
    FROM told t JOIN hosts h ON h.host = t.host
    WHERE t.value IS NOT NULL AND h.model IS NOT NULL
    GROUP BY h.model, t.host, t.aspect, t.place, t.device
), counts AS (
    SELECT model, aspect, place, device, value, count(*) AS same FROM traits GROUP BY model, aspect, place, device, value
), shares AS (
    SELECT counts.*, sum(same) OVER (PARTITION BY model, aspect, place, device) AS of_hosts FROM counts
), usual AS (
    SELECT * FROM shares WHERE same < of_hosts AND same * 10 >= of_hosts * 9
), links AS (
    SELECT DISTINCT model, place, host FROM traits WHERE aspect = 'link_width'
), link_places AS (
    SELECT DISTINCT model, place FROM links
), found AS (
    -- Places are told apart where they are links: block devices are called differently on every host.
    SELECT DISTINCT h.model, f.host, f.code, l.place
    FROM fleet f JOIN hosts h ON h.host = f.host LEFT JOIN link_places l ON l.model = h.model AND l.place = f.place
    WHERE f.record = 'finding' AND f.severity IN ('fault', 'limit') AND coalesce(f.change, '') <> 'gone'
        AND h.model IS NOT NULL
), kinds AS (
    SELECT DISTINCT model, code, place FROM found
), seen AS (
    -- Of a host whose link at a place is not known it is not known either whether it lacks a finding there.
    SELECT k.model, k.code, k.place, l.host FROM kinds k JOIN links l ON l.model = k.model AND l.place = k.place
    UNION
    SELECT k.model, k.code, k.place, h.host FROM kinds k JOIN hosts h ON h.model = k.model WHERE k.place IS NULL
    UNION
    SELECT model, code, place, host FROM found
), of_kind AS (
    SELECT s.model, s.code, s.place, count(*) AS of_hosts, count(f.host) AS with_it
    FROM seen s LEFT JOIN found f ON f.model = s.model AND f.code = s.code AND f.place IS NOT DISTINCT FROM s.place
        AND f.host = s.host
    GROUP BY s.model, s.code, s.place
), few_have AS (
    SELECT * FROM of_kind WHERE with_it > 0 AND (of_hosts - with_it) * 10 >= of_hosts * 9
), few_lack AS (
    SELECT * FROM of_kind WHERE place IS NOT NULL AND with_it < of_hosts AND with_it * 10 >= of_hosts * 9
)
SELECT t.host, t.model, t.aspect, t.place, t.value, u.value AS usual, u.same AS same, u.of_hosts AS of_hosts
FROM traits t JOIN usual u ON u.model = t.model AND u.aspect = t.aspect AND u.place IS NOT DISTINCT FROM t.place
    AND u.device = t.device
    -- Where a host has a finding, that says it better than the state of its link.
    LEFT JOIN (SELECT DISTINCT model, host, place FROM found) said
        ON said.model = t.model AND said.host = t.host AND said.place = t.place
WHERE t.value <> u.value AND said.host IS NULL
UNION ALL
SELECT f.host, f.model, f.code, f.place, 'found', NULL, k.of_hosts - k.with_it, k.of_hosts
FROM found f JOIN few_have k ON k.model = f.model AND k.code = f.code AND k.place IS NOT DISTINCT FROM f.place
UNION ALL
SELECT s.host, s.model, s.code, s.place, NULL, 'found', k.with_it, k.of_hosts
FROM seen s JOIN few_lack k ON k.model = s.model AND k.code = s.code AND k.place = s.place
    LEFT JOIN found f ON f.model = s.model AND f.code = s.code AND f.place = s.place AND f.host = s.host
WHERE f.host IS NULL
