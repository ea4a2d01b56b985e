-- DuckDB: the hosts of fleet/taken=DAY/*.jsonl (docs/fleet.md), of all days and of the last one.
CREATE VIEW all_days AS FROM read_json('fleet/*/*.jsonl', format = 'newline_delimited', hive_partitioning = true, columns = {
    record: 'VARCHAR', host: 'VARCHAR', vendor: 'VARCHAR', product: 'VARCHAR', board: 'VARCHAR', bios: 'VARCHAR', kernel: 'VARCHAR',
    cpu: 'VARCHAR', memory_bytes: 'BIGINT', failure: 'VARCHAR', change: 'VARCHAR', severity: 'VARCHAR', code: 'VARCHAR',
    confidence: 'VARCHAR', place: 'VARCHAR', subject: 'VARCHAR', hop: 'VARCHAR', state: 'VARCHAR', summary: 'VARCHAR',
    links: 'STRUCT(address VARCHAR, place VARCHAR, device VARCHAR, width BIGINT, speed VARCHAR)[]'
});
CREATE VIEW fleet AS FROM all_days WHERE taken = (SELECT max(taken) FROM all_days);
CREATE VIEW all_links AS SELECT taken, host, unnest(links, recursive := true) FROM all_days WHERE record = 'host';
CREATE VIEW host_links AS FROM all_links WHERE taken = (SELECT max(taken) FROM all_days);
