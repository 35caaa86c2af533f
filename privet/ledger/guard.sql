-- The functions that guard a ledger's tables; see postgres_tables.py for what they promise. Those
-- that add up are in guard_totals.sql. @. stands for the ledger's schema, @genesis@ for what the
-- first entry follows, @curves@ for the kinds of curves, @fixed@ for the settings by which somebody
-- could change the meaning of a name or a text. Every function fixes them, since every one can be
-- called by whoever may charge. Whoever may call one may also have it compiled without them
-- (plpgsql_validator), and a session keeps the types of variables that were found then: these are
-- written with their schema, unless they are words of SQL itself (INT, NUMERIC, BOOLEAN).

-- Nobody else writes until this transaction ends.
CREATE OR REPLACE FUNCTION @.privet_lock() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER @fixed@ AS $$
BEGIN
  LOCK TABLE @.privet_entries IN EXCLUSIVE MODE;
END $$;

-- A text in JSON as Python writes it: all but printable ASCII is escaped.
CREATE OR REPLACE FUNCTION @.privet_quoted(value TEXT) RETURNS TEXT
LANGUAGE plpgsql IMMUTABLE @fixed@ AS $$
DECLARE
  letter pg_catalog.TEXT;
  code INT;
  told pg_catalog.TEXT := '';
BEGIN
  IF value IS NULL THEN
    RETURN 'null';
  ELSIF value !~ '[^ -~]' THEN
    RETURN to_json(value)::text;
  ELSIF getdatabaseencoding() <> 'UTF8' THEN  -- whose letters have other numbers than Python's
    RAISE EXCEPTION 'names beyond ASCII need a UTF8 database';
  END IF;
  FOREACH letter IN ARRAY regexp_split_to_array(value, '') LOOP
    code := ascii(letter);
    told := told || CASE
      WHEN letter IN ('"', '\') THEN '\' || letter
      WHEN code BETWEEN 32 AND 126 THEN letter
      WHEN code < 65536 THEN '\u' || lpad(to_hex(code), 4, '0')
      ELSE '\u' || to_hex(55296 + ((code - 65536) >> 10))
        || '\u' || to_hex(56320 + ((code - 65536) & 1023))
    END;
  END LOOP;
  RETURN '"' || told || '"';
END $$;

-- The hash that an entry must carry: of its canonical JSON.
CREATE OR REPLACE FUNCTION @.privet_hash(made @.privet_entries) RETURNS TEXT
LANGUAGE sql STABLE @fixed@ AS $$
  SELECT encode(sha256(convert_to('{' || string_agg(
      '"' || field || '":' || value, ',' ORDER BY field COLLATE "C") || '}', 'UTF8')), 'hex')
  FROM (VALUES
    ('body', made.body), ('dataset', @.privet_quoted(made.dataset)),
    ('key', @.privet_quoted(made.key)), ('kind', @.privet_quoted(made.kind)),
    ('ledger', CASE WHEN made.ledger IS NOT NULL THEN @.privet_quoted(made.ledger) END),
    ('nonce', CASE WHEN made.nonce IS NOT NULL THEN @.privet_quoted(made.nonce) END),
    ('part', CASE WHEN made.part IS NOT NULL THEN @.privet_quoted(made.part) END),
    ('previous', @.privet_quoted(made.previous)), ('sequence', made.sequence::text),
    ('time', @.privet_quoted(made.time)), ('totals', made.totals)
  ) fields (field, value) WHERE value IS NOT NULL
$$;

-- Whether this is a curve of a kind that Privet knows, with numbers and words alone.
CREATE OR REPLACE FUNCTION @.privet_is_curve(curve JSONB) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE @fixed@ AS $$
  SELECT CASE WHEN jsonb_typeof(curve) = 'object' THEN curve->>'kind' = ANY (ARRAY[@curves@])
    AND NOT EXISTS (SELECT FROM jsonb_each(curve)
      WHERE jsonb_typeof(value) NOT IN ('number', 'string') OR length(value#>>'{}') > 400) END
$$;

-- Whether a body has the fields of an event.
CREATE OR REPLACE FUNCTION @.privet_is_event(event JSONB, depth INT) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE @fixed@ AS $$
BEGIN
  RETURN jsonb_typeof(event) = 'object' AND depth > 0
    AND event ?& ARRAY['mechanism', 'noise', 'theorem', 'why_not_private', 'scale', 'sensitivity',
      'share', 'regularization', 'n', 'm', 'private', 'version', 'claim', 'curves']
    AND event - ARRAY['mechanism', 'noise', 'theorem', 'why_not_private', 'scale', 'sensitivity',
      'share', 'regularization', 'n', 'm', 'private', 'version', 'claim', 'curves', 'parts'] = '{}'
    AND event->'private' = 'true' AND event->>'why_not_private' = ''
    AND event->'version' = CASE WHEN event ? 'parts' THEN '2'::jsonb ELSE '1'::jsonb END
    AND NOT EXISTS (
      SELECT FROM unnest(ARRAY['mechanism', 'noise', 'theorem', 'why_not_private']) name
      WHERE jsonb_typeof(event->name) <> 'string' OR event->>name ~ '[[:cntrl:]]'
        OR length(event->>name) > 4000)
    AND NOT EXISTS (
      SELECT FROM unnest(ARRAY['scale', 'sensitivity', 'share', 'regularization', 'n', 'm']) name
      WHERE jsonb_typeof(event->name) <> 'number' OR length(event->>name) > 400)
    AND event->>'n' ~ '^[0-9]{1,18}$' AND event->>'m' ~ '^[0-9]{1,18}$'
    AND CASE event->'claim'->>'kind'
      WHEN 'pure' THEN (event->'claim') - ARRAY['kind', 'epsilon'] = '{}'
        AND @.privet_number(event->'claim'->'epsilon') IS NOT NULL
      WHEN 'zcdp' THEN (event->'claim') - ARRAY['kind', 'rho'] = '{}'
        AND @.privet_number(event->'claim'->'rho') IS NOT NULL
      WHEN 'approx' THEN (event->'claim') - ARRAY['kind', 'epsilon', 'delta'] = '{}'
        AND @.privet_number(event->'claim'->'epsilon') IS NOT NULL
        AND @.privet_number(event->'claim'->'delta') < 1
      WHEN 'gdp' THEN (event->'claim') - ARRAY['kind', 'mu'] = '{}'
        AND @.privet_number(event->'claim'->'mu') IS NOT NULL
      ELSE false END
    AND jsonb_typeof(event->'curves') = 'array' AND event->'curves' <> '[]'
    AND NOT EXISTS (SELECT FROM jsonb_array_elements(event->'curves') curve
      WHERE NOT coalesce(@.privet_is_curve(curve), false))
    AND jsonb_typeof(coalesce(event->'parts', '[]')) = 'array'
    AND NOT EXISTS (SELECT FROM jsonb_array_elements(coalesce(event->'parts', '[]')) part
      WHERE NOT coalesce(@.privet_is_event(part, depth - 1), false));
END $$;

-- A settlement by somebody who is not the owner.
CREATE OR REPLACE FUNCTION @.privet_admit_settle(made @.privet_entries, last @.privet_entries)
RETURNS void LANGUAGE plpgsql @fixed@ AS $$
DECLARE
  reserved @.privet_entries;
BEGIN
  IF made.key ~ '^[1-9][0-9]{0,17}$' THEN
    SELECT * INTO reserved FROM @.privet_entries WHERE sequence = made.key::bigint;
  END IF;
  IF reserved IS NULL OR reserved.kind <> 'reserve' OR reserved.dataset <> made.dataset THEN
    RAISE EXCEPTION 'there is no such reservation';
  ELSIF reserved.author <> current_user THEN
    RAISE EXCEPTION 'the reservation is another login''s, which alone may settle it'
      USING ERRCODE = 'insufficient_privilege';
  ELSIF made.totals <> last.totals OR made.time <> reserved.time OR made.part IS NOT NULL
      OR made.body !~ ('^[{]("persons":[1-9][0-9]{0,17},)?("released":[[]"[0-9a-f]{64}"'
        || '(,"[0-9a-f]{64}")*[]],)?"reservation":' || made.key || '[}]$') THEN
    RAISE EXCEPTION 'the settlement changes more than it may';
  END IF;
END $$;

-- A charge by somebody who is not the owner.
CREATE OR REPLACE FUNCTION @.privet_admit_charge(
  made @.privet_entries, last @.privet_entries, opened @.privet_entries
) RETURNS void LANGUAGE plpgsql @fixed@ AS $$
DECLARE
  terms pg_catalog.JSONB := CASE WHEN opened.body::jsonb ? 'cap' THEN opened.body::jsonb
    ELSE jsonb_build_object('cap', opened.body::jsonb, 'parts', '{}'::jsonb, 'group', 1) END;
  event pg_catalog.JSONB := made.body::jsonb;
  before pg_catalog.JSONB := @.privet_vectors(last.totals);
  after pg_catalog.JSONB := @.privet_vectors(made.totals);
  k NUMERIC := (terms->>'group')::numeric;
  rows pg_catalog.JSONB := terms->'parts'->made.part;
  place INT := (SELECT number - 1 FROM (SELECT name, row_number() OVER (ORDER BY name COLLATE "C")
    AS number FROM jsonb_object_keys(terms->'parts') name) names WHERE name = made.part);
BEGIN
  IF made.part IS NOT NULL AND place IS NULL THEN
    RAISE EXCEPTION 'the data set has no such part';
  ELSIF NOT coalesce(@.privet_is_event(event, 3), false) THEN
    RAISE EXCEPTION 'the entry is not an event that Privet writes';
  ELSIF made.totals !~ replace('^[[]?[[]A(,A)*[]](,[[]A(,A)*[]])*[]]?$', 'A',
      '("[0-9]{1,40}([.][0-9]{1,30})?"|null)') THEN
    RAISE EXCEPTION 'the totals are not amounts';
  ELSIF jsonb_array_length(before) <> jsonb_array_length(after) THEN
    RAISE EXCEPTION 'the totals do not have the account''s parts';
  ELSIF (event->>'n')::numeric > (rows->>1)::numeric - (rows->>0)::numeric THEN
    RAISE EXCEPTION 'the release was made from more rows than the part has';
  END IF;
  FOR i IN 0 .. jsonb_array_length(before) - 1 LOOP
    IF NOT coalesce(@.privet_paid(before->i, after->i, place IS NULL OR place = i, event, k),
        false) THEN
      RAISE EXCEPTION 'the totals do not add up: less was added than the release costs, or far more';
    END IF;
  END LOOP;
  IF NOT coalesce(@.privet_fits(after, terms->'cap', k > 1), false) THEN
    RAISE EXCEPTION 'the release does not fit under the cap';
  END IF;
END $$;

-- Anything that is written by somebody who is not the owner.
CREATE OR REPLACE FUNCTION @.privet_admit(made @.privet_entries, newest @.privet_entries)
RETURNS void LANGUAGE plpgsql @fixed@ AS $$
DECLARE
  opened @.privet_entries;
  last @.privet_entries;
BEGIN
  SELECT * INTO opened FROM @.privet_entries
    WHERE dataset = made.dataset AND kind = 'open' AND key = made.dataset;
  SELECT * INTO last FROM @.privet_entries
    WHERE dataset = made.dataset ORDER BY sequence DESC LIMIT 1;
  IF made.kind NOT IN ('reserve', 'settle') THEN
    RAISE EXCEPTION 'this role may charge and settle, nothing else; ask the owner of the ledger'
      USING ERRCODE = 'insufficient_privilege';
  ELSIF NOT (SELECT rolcanlogin FROM pg_roles WHERE rolname = current_user) THEN
    RAISE EXCEPTION 'several logins may share this role (SET ROLE); charge in a login''s own name'
      USING ERRCODE = 'insufficient_privilege';
  ELSIF opened IS NULL THEN
    RAISE EXCEPTION 'the data set is not open in this ledger';
  ELSIF made.ledger IS DISTINCT FROM newest.ledger OR made.nonce !~ '^[0-9a-f]{32}$'
      OR made.time !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[+]00:00$'
      OR made.key ~ '[[:cntrl:]]' OR length(made.key) > 1000 OR made.body ~ '[^ -~]'
      OR octet_length(made.body) > 100000  -- others read it, up to 500 at once
      OR made.nonce IS NULL THEN
    RAISE EXCEPTION 'the entry is not one that Privet writes';
  ELSIF to_char(made.time::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')
      <> made.time THEN  -- 24:00, a leap second; a day that does not exist is an error by itself
    RAISE EXCEPTION 'the entry has a time that Privet does not write';
  ELSIF made.kind = 'settle' THEN
    PERFORM @.privet_admit_settle(made, last);
  ELSE
    PERFORM @.privet_admit_charge(made, last, opened);
  END IF;
END $$;

-- Whatever is written, before it is. It runs with the rights of whoever writes, so that current_user
-- is that role. The user of the session may be another one: the server's own analysis of a table
-- runs functions of the table's owner in a superuser's session.
CREATE OR REPLACE FUNCTION @.privet_guard() RETURNS trigger
LANGUAGE plpgsql @fixed@ AS $$
DECLARE
  newest @.privet_entries;
  owner pg_catalog.OID := (SELECT relowner FROM pg_class WHERE oid = TG_RELID);
BEGIN
  PERFORM @.privet_lock();
  NEW.author := current_user;
  SELECT * INTO newest FROM @.privet_entries ORDER BY sequence DESC LIMIT 1;
  IF NEW.sequence IS DISTINCT FROM coalesce(newest.sequence, 0) + 1
      OR NEW.previous IS DISTINCT FROM coalesce(newest.hash, '@genesis@') THEN
    RAISE EXCEPTION 'the entry does not follow the newest one';
  ELSIF NEW.hash IS DISTINCT FROM @.privet_hash(NEW) THEN
    RAISE EXCEPTION 'the entry''s hash is not its own; names beyond ASCII need a UTF8 database';
  ELSIF NOT pg_has_role(current_user, owner, 'USAGE') THEN
    PERFORM @.privet_admit(NEW, newest);
  END IF;
  RETURN NEW;
END $$;

-- earlier, this function wrote with the owner's rights for whoever's session it was
DROP FUNCTION IF EXISTS @.privet_append(TEXT);
DROP TRIGGER IF EXISTS privet_guard ON @.privet_entries;
CREATE TRIGGER privet_guard BEFORE INSERT ON @.privet_entries
  FOR EACH ROW EXECUTE FUNCTION @.privet_guard();
-- also of what a subscription writes, which a login may have that is not the owner's
ALTER TABLE @.privet_entries ENABLE ALWAYS TRIGGER privet_guard;
