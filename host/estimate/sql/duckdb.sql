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
-- For slices, add their columns at its four marks. Rows are grouped by their bytes first, so only what differs is taken apart.
WITH grouped AS (
    SELECT release, /* slices, */ count(*) AS count
    FROM releases
    WHERE octet_length(release) = 24
    GROUP BY release /* , slices */
),
digits AS (
    SELECT hex(release) AS h, * FROM grouped
),
fields AS (
    SELECT
        h[1:8] AS start,
        ('0x' || h[9:10])::INTEGER AS mechanism,
        ('0x' || h[11:12])::INTEGER AS rule,
        ('0x' || h[15:16] || h[13:14])::INTEGER AS "order",
        ('0x' || h[23:24] || h[21:22] || h[19:20] || h[17:18])::BIGINT AS micro,
        ('0x' || h[31:32] || h[29:30] || h[27:28] || h[25:26])::BIGINT AS outcome,
        lower(h[33:48]) AS pack,
        *
    FROM digits
)
SELECT
    pack, mechanism, rule,
    (micro::DECIMAL(18, 6) / 1000000)::DECIMAL(10, 6) AS epsilon,
    "order", /* slices, */ outcome, count
FROM fields
WHERE start = '55545201'
    AND (mechanism IN (1, 2) AND rule IN (1, 2) AND "order" = 0
        OR mechanism = 7 AND rule = 2 AND "order" = 0
        -- An order that is no prime is not looked for here.
        OR mechanism = 8 AND rule = 2 AND "order" >= 2)
    AND micro BETWEEN 1 AND 1000000000
ORDER BY pack, mechanism, rule, "order", epsilon, /* slices, */ outcome;
