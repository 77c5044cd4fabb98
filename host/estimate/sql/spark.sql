-- Counts of releases in Spark: what `undertone count` writes, out of the bytes.
--
-- `releases` is a table or view with the 24 bytes of each release in the column `release`, a BINARY. In Python, from Parquet:
--     spark.read.parquet('releases.parquet').createOrReplaceTempView('releases')
-- of hexadecimal digits:
--     spark.read.json('releases.jsonl').selectExpr('* EXCEPT (release)', 'unhex(release) AS release')
--         .createOrReplaceTempView('releases')
-- and of raw records:
--     spark.sparkContext.binaryRecords('releases.raw', 24).map(lambda r: (r,)).toDF('release BINARY')
--         .createOrReplaceTempView('releases')
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
        substr(h, 1, 8) AS start,
        CAST(conv(substr(h, 9, 2), 16, 10) AS INT) AS mechanism,
        CAST(conv(substr(h, 11, 2), 16, 10) AS INT) AS rule,
        CAST(conv(substr(h, 15, 2) || substr(h, 13, 2), 16, 10) AS INT) AS order,
        CAST(conv(substr(h, 23, 2) || substr(h, 21, 2) || substr(h, 19, 2) || substr(h, 17, 2), 16, 10) AS BIGINT) AS micro,
        CAST(conv(substr(h, 31, 2) || substr(h, 29, 2) || substr(h, 27, 2) || substr(h, 25, 2), 16, 10) AS BIGINT) AS outcome,
        lower(substr(h, 33, 16)) AS pack,
        *
    FROM digits
)
SELECT
    pack, mechanism, rule,
    CAST(CAST(micro AS DECIMAL(18, 6)) / 1000000 AS DECIMAL(10, 6)) AS epsilon,
    order, /* slices, */ outcome, count
FROM fields
WHERE start = '55545201'
    AND (mechanism IN (1, 2) AND rule IN (1, 2) AND order = 0
        OR mechanism = 7 AND rule = 2 AND order = 0
        -- An order that is no prime is not looked for here.
        OR mechanism = 8 AND rule = 2 AND order >= 2)
    AND micro BETWEEN 1 AND 1000000000
ORDER BY pack, mechanism, rule, order, epsilon, /* slices, */ outcome
