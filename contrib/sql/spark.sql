-- Spark: the hosts of fleet/taken=DAY/*.jsonl (docs/fleet.md), of all days and of the last one.
CREATE TEMPORARY VIEW all_days (
    record STRING, host STRING, vendor STRING, product STRING, board STRING, bios STRING, kernel STRING, cpu STRING, memory_bytes BIGINT,
    failure STRING, change STRING, severity STRING, code STRING, confidence STRING, place STRING, subject STRING, hop STRING,
    state STRING, summary STRING,
    links ARRAY<STRUCT<address: STRING, place: STRING, device: STRING, width: BIGINT, speed: STRING>>, taken DATE
) USING json OPTIONS (path 'fleet');
CREATE TEMPORARY VIEW fleet AS SELECT * FROM all_days WHERE taken = (SELECT max(taken) FROM all_days);
CREATE TEMPORARY VIEW all_links AS SELECT taken, host, inline(links) FROM all_days WHERE record = 'host';
CREATE TEMPORARY VIEW host_links AS SELECT * FROM all_links WHERE taken = (SELECT max(taken) FROM all_days);
