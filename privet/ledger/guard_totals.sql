-- What a charge by somebody who is not the owner must add, and whether it fits under the cap; used
-- by guard.sql. @. stands for the ledger's schema, @orders@ for the Renyi orders of the filter.
-- Totals have 12 columns (epsilon, rho, ten orders), 2 (epsilon, delta) or 1 (the square of mu).

-- Totals as a list of vectors, also where there is only one.
CREATE OR REPLACE FUNCTION @.privet_vectors(totals TEXT) RETURNS JSONB
LANGUAGE sql IMMUTABLE @fixed@ AS $$
  SELECT CASE jsonb_typeof(totals::jsonb->0) WHEN 'array' THEN totals::jsonb
    ELSE jsonb_build_array(totals::jsonb) END
$$;

-- An amount in the totals: a decimal, billionths of the first format, or none.
CREATE OR REPLACE FUNCTION @.privet_amount(written JSONB) RETURNS NUMERIC
LANGUAGE plpgsql IMMUTABLE @fixed@ AS $$
BEGIN
  CASE
    WHEN jsonb_typeof(written) = 'null' THEN RETURN NULL;
    WHEN jsonb_typeof(written) = 'number' AND written#>>'{}' ~ '^[0-9]{1,40}$' THEN
      RETURN (written#>>'{}')::numeric * 1e-9;
    WHEN jsonb_typeof(written) = 'string'
      AND written#>>'{}' ~ '^[0-9]{1,40}([.][0-9]{1,30})?$' THEN
      RETURN (written#>>'{}')::numeric;
    ELSE RAISE EXCEPTION 'the totals are not amounts';
  END CASE;
END $$;

-- A positive number; null where it is none.
CREATE OR REPLACE FUNCTION @.privet_number(written JSONB) RETURNS NUMERIC
LANGUAGE sql IMMUTABLE @fixed@ AS $$
  SELECT CASE WHEN jsonb_typeof(written) = 'number' AND length(written#>>'{}') < 400
    AND (written#>>'{}')::numeric > 0 THEN (written#>>'{}')::numeric END
$$;

-- The same to fifteen digits; not so small that its square would be none.
CREATE OR REPLACE FUNCTION @.privet_real(written JSONB) RETURNS FLOAT8
LANGUAGE sql IMMUTABLE @fixed@ AS $$
  SELECT CASE WHEN @.privet_number(written) IS NOT NULL
    THEN greatest(@.privet_number(written), 1e-100)::float8 END
$$;

-- The Renyi divergence of randomized response, the worst of all releases with this pure loss.
CREATE OR REPLACE FUNCTION @.privet_renyi(loss FLOAT8, a FLOAT8) RETURNS FLOAT8
LANGUAGE sql IMMUTABLE @fixed@ AS $$
  SELECT least(loss, a * loss ^ 2 / 2, greatest(0, (a - 1) * loss
    - ln(1 + exp(-least(loss, 700))) + ln(1 + exp(-least((2 * a - 1) * loss, 700)))) / (a - 1))
$$;

-- What a release adds to each column of totals of this width at least, by its curves: infinite
-- where there is no bound, too little for the curves whose price only Privet can compute.
CREATE OR REPLACE FUNCTION @.privet_floors(event JSONB, k FLOAT8, width INT) RETURNS FLOAT8[]
LANGUAGE plpgsql IMMUTABLE @fixed@ AS $$
DECLARE
  claim pg_catalog.JSONB := event->'claim';
  loss pg_catalog.FLOAT8[];
  rho pg_catalog.FLOAT8[];
  mu pg_catalog.FLOAT8[];
  kinds pg_catalog.TEXT[];
  pure pg_catalog.FLOAT8;
  concentrated pg_catalog.FLOAT8;
BEGIN
  SELECT array_agg(coalesce(CASE WHEN read.kind IN ('pure', 'concentrated') THEN read.loss END,
      'Infinity')), array_agg(coalesce(CASE WHEN read.kind = 'pure' THEN read.loss ^ 2 / 2
      WHEN read.kind IN ('objective_gaussian', 'objective_gaussian_at_k')
      THEN read.shift ^ 2 / 2 ELSE read.rho END, 'Infinity')),
      array_agg(coalesce(CASE read.kind WHEN 'gaussian' THEN sqrt(2 * read.rho) + 3 * read.slack
        * (1 + sqrt(2 * read.rho) * exp(least(read.rho / 4, 600))) END, 'Infinity')),
      array_agg(read.kind)
    INTO loss, rho, mu, kinds
    FROM (SELECT curve->>'kind' AS kind, @.privet_real(curve->'loss') AS loss,
      @.privet_real(curve->'rho') AS rho, @.privet_real(curve->'shift') AS shift,
      coalesce(@.privet_real(curve->'slack'), 0) AS slack
      FROM jsonb_array_elements(event->'curves') curve) read;
  SELECT greatest(sum(each), CASE claim->>'kind' WHEN 'pure'
    THEN @.privet_real(claim->'epsilon') END) INTO pure FROM unnest(loss) each;
  SELECT greatest(sum(each), @.privet_real(claim->'rho')) INTO concentrated FROM unnest(rho) each;
  IF width = 1 THEN  -- the square of a pure loss's mu is more than both; most have no mu
    RETURN ARRAY[(SELECT sum(CASE WHEN one < 'Infinity' THEN least(one ^ 2, 4 * one)
      ELSE other ^ 2 END) * k ^ 2 FROM unnest(loss, mu) both_of (one, other))];
  ELSIF width = 2 THEN
    RETURN CASE WHEN claim ? 'delta' THEN ARRAY[k * @.privet_real(claim->'epsilon'),
      -- one term for each row of a person, or a thousand that are no more than all together
      @.privet_real(claim->'delta') * (SELECT sum(step * exp(least(row * step
        * @.privet_real(claim->'epsilon'), 300))) FROM (SELECT greatest(k / 1000, 1) AS step) one,
        generate_series(0, least(k, 1000)::int - 1) row)] ELSE ARRAY[k * pure, 0] END;
  END IF;
  RETURN ARRAY[k * pure, k ^ 2 * concentrated] || ARRAY(
    SELECT CASE WHEN k = 1 THEN (SELECT sum(least(a * other, CASE WHEN kind <> 'pure' THEN one
        ELSE @.privet_renyi(one, a) END)) FROM unnest(loss, rho, kinds) all_of (one, other, kind))
      WHEN pure < 'Infinity' THEN least(k ^ 2 * concentrated * a, @.privet_renyi(k * pure, a))
      ELSE k ^ 2 * concentrated * a END
    FROM unnest(ARRAY[@orders@]::float8[]) WITH ORDINALITY orders (a, number) ORDER BY number);
END $$;

-- Whether a vector is what it was, or grew by what a release claims and its curves prove.
CREATE OR REPLACE FUNCTION @.privet_paid(
  before JSONB, after JSONB, touched BOOLEAN, event JSONB, k NUMERIC
) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE @fixed@ AS $$
DECLARE
  claim pg_catalog.JSONB := event->'claim';
  width INT := jsonb_array_length(after);
  fresh BOOLEAN := NOT EXISTS (SELECT FROM jsonb_array_elements(before) each
    WHERE @.privet_amount(each) IS DISTINCT FROM 0);
  own INT := CASE WHEN claim->>'kind' = 'pure' AND width > 1 THEN 0
    WHEN claim->>'kind' = 'zcdp' AND width = 12 THEN 1
    WHEN claim->>'kind' = 'approx' AND width = 2 THEN 0
    WHEN claim->>'kind' = 'gdp' AND width = 1 THEN 0 END;
  claimed NUMERIC := coalesce(@.privet_number(claim->'epsilon') * k,
    (@.privet_number(claim->'mu') * k) ^ 2, @.privet_number(claim->'rho') * k ^ 2);
  floors pg_catalog.FLOAT8[] := @.privet_floors(event, k::float8, width);
  earlier NUMERIC;
  later NUMERIC;
  least_step NUMERIC;
BEGIN
  IF fresh AND width = 2 AND jsonb_array_length(before) = 12 THEN
    before := '["0", "0"]';  -- the first release chooses between the filters
  END IF;
  IF width <> jsonb_array_length(before) OR claimed IS NULL THEN
    RETURN false;
  END IF;
  FOR i IN 0 .. width - 1 LOOP
    earlier := @.privet_amount(before->i);
    later := @.privet_amount(after->i);
    IF NOT touched AND later IS DISTINCT FROM earlier THEN
      RETURN false;
    ELSIF touched AND later IS NOT NULL THEN
      IF earlier IS NULL OR floors[i + 1] = 'Infinity' THEN
        RETURN false;
      END IF;
      -- a logarithm may be rounded otherwise; what was typed is exact
      least_step := greatest(floors[i + 1]::numeric * (1 - 1e-9) - 1e-14,
        CASE WHEN i = own THEN claimed ELSE 0 END);
      IF later < earlier + least_step OR later = earlier AND NOT (width = 2 AND i = 1) THEN
        RETURN false;  -- only delta may stay: a pure release adds none
      ELSIF later - earlier > 1e30 THEN
        RETURN false;  -- else one charge would leave no digit for the next (privet_amount)
      END IF;
    END IF;
  END LOOP;
  RETURN true;
END $$;

-- Whether each column of a vector that counts is within the cap.
CREATE OR REPLACE FUNCTION @.privet_columns(after JSONB, cap JSONB) RETURNS BOOLEAN[]
LANGUAGE plpgsql IMMUTABLE @fixed@ AS $$
DECLARE
  slack NUMERIC := 1 + 1e-15;
  width INT := jsonb_array_length(after);
  first NUMERIC := @.privet_amount(after->0);
  second NUMERIC := CASE WHEN width > 1 THEN @.privet_amount(after->1) END;
  epsilon NUMERIC := @.privet_number(cap->'epsilon');
  delta NUMERIC := @.privet_number(cap->'delta');
  orders NUMERIC[] := ARRAY[@orders@];
BEGIN
  RETURN CASE
    WHEN cap->>'kind' = 'pure' AND width = 12 THEN ARRAY[first <= epsilon * slack]
    WHEN cap->>'kind' = 'zcdp' AND width = 12 THEN
      ARRAY[second <= @.privet_number(cap->'rho') * slack]
    WHEN cap->>'kind' = 'gdp' AND width = 1 THEN
      ARRAY[first <= @.privet_number(cap->'mu') ^ 2 * slack]
    WHEN cap->>'kind' = 'approx' AND width = 2 THEN
      ARRAY[first <= epsilon * slack AND second <= delta * slack]
    WHEN cap->>'kind' = 'approx' AND width = 12 THEN ARRAY[first <= epsilon * slack] || ARRAY(
      SELECT @.privet_amount(after->(i + 1)) <= epsilon
        + ln(delta / array_length(orders, 1)) / (orders[i] - 1) + 1e-9 * (1 + epsilon)
      FROM generate_subscripts(orders, 1) i ORDER BY i)
  END;
END $$;

-- Whether every vector is within the cap; for persons with several rows all in the same column.
CREATE OR REPLACE FUNCTION @.privet_fits(after JSONB, cap JSONB, persons BOOLEAN) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE @fixed@ AS $$
  WITH found AS (SELECT part, number, coalesce(good, false) AS good
    FROM jsonb_array_elements(after) WITH ORDINALITY vectors (vector, part),
      unnest(@.privet_columns(vector, cap)) WITH ORDINALITY columns (good, number)),
  best AS (SELECT part, bool_or(good) AS good FROM found GROUP BY part),
  shared AS (SELECT number, bool_and(good) AS good FROM found GROUP BY number)
  SELECT (SELECT count(*) FROM best WHERE good) = jsonb_array_length(after)
    AND (NOT persons OR EXISTS (SELECT FROM shared WHERE good)
      AND 1 = (SELECT count(DISTINCT jsonb_array_length(vector))
        FROM jsonb_array_elements(after) vector))
$$;
