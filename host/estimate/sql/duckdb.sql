-- Counts of releases in DuckDB: what `undertone count` writes, out of the bytes.
--
-- `releases` is a table or view with the 24 bytes of each release in the column `release`. From Parquet:
--     CREATE VIEW releases AS FROM 'releases.parquet';
-- of hexadecimal digits:
--     CREATE VIEW releases AS SELECT * REPLACE (from_hex(release) AS release) FROM 'releases.jsonl';
-- and of raw records, below 4 GB a file:
--     CREATE VIEW releases AS
--         SELECT content[24 * n + 1 : 24 * n + 24] AS release FROM read_blob('releases.raw'), range(0, size // 24) AS r(n);
--
-- For slices, add their columns at its four marks. Rows are grouped by their bytes first, so that each
-- different release is parsed once. The query's own names end in `_of_undertone`; a slice with any other name keeps
-- its values. Rename a slice that is called like a column of the result: counts need each name once.
WITH grouped AS (
    SELECT release, /* slices, */ count(*) AS count_of_undertone
    FROM releases
    WHERE octet_length(release) = 24
    GROUP BY release /* , slices */
),
digits AS (
    SELECT hex(release) AS hex_of_undertone, * FROM grouped
),
fields AS (
    SELECT
        hex_of_undertone[1:8] AS start_of_undertone,
        ('0x' || hex_of_undertone[9:10])::INTEGER AS mechanism_of_undertone,
        ('0x' || hex_of_undertone[11:12])::INTEGER AS rule_of_undertone,
        ('0x' || hex_of_undertone[15:16] || hex_of_undertone[13:14])::INTEGER AS order_of_undertone,
        ('0x' || hex_of_undertone[23:24] || hex_of_undertone[21:22]
            || hex_of_undertone[19:20] || hex_of_undertone[17:18])::BIGINT AS micro_of_undertone,
        ('0x' || hex_of_undertone[31:32] || hex_of_undertone[29:30]
            || hex_of_undertone[27:28] || hex_of_undertone[25:26])::BIGINT AS outcome_of_undertone,
        lower(hex_of_undertone[33:48]) AS pack_of_undertone,
        *
    FROM digits
)
SELECT
    pack_of_undertone AS pack, mechanism_of_undertone AS mechanism, rule_of_undertone AS rule,
    (micro_of_undertone::DECIMAL(18, 6) / 1000000)::DECIMAL(10, 6) AS epsilon,
    order_of_undertone AS "order", /* slices, */ outcome_of_undertone AS outcome, count_of_undertone AS count
FROM fields
WHERE start_of_undertone = '55545201'
    AND (mechanism_of_undertone IN (1, 2) AND rule_of_undertone IN (1, 2) AND order_of_undertone = 0
        OR mechanism_of_undertone IN (7, 11) AND rule_of_undertone = 2 AND order_of_undertone = 0
        -- An order that is not prime is not looked for here.
        OR mechanism_of_undertone IN (8, 12) AND rule_of_undertone = 2 AND order_of_undertone >= 2
        -- A drawn sentence, whose order is its places; and an answer to a form, whose order 1 is
        -- randomised response.
        OR mechanism_of_undertone IN (9, 10) AND rule_of_undertone = 2 AND order_of_undertone >= 1)
    AND micro_of_undertone BETWEEN 1 AND 1000000000
ORDER BY pack_of_undertone, mechanism_of_undertone, rule_of_undertone, order_of_undertone, micro_of_undertone,
    /* slices, */ outcome_of_undertone;
