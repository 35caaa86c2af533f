-- Everything that the server's catalog says about a ledger in the schema @schema@, one line each:
-- postgres_facts.py compares the lines with those of a fresh ledger. It asks the catalog alone, and
-- nothing in the schema is called. The path must be pg_catalog, on which there is nothing but the
-- server's own; temporary schemas are never searched for functions or operators.
--
-- Roles are told by what they are to the ledger: the owner of its entries, and the two roles that
-- share its prefix, where it has one. What the owner may do with its own is not told.
WITH space AS (
  SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = '@schema@'
), owner AS (
  SELECT r.oid, CASE WHEN NOT r.rolcanlogin THEN substring(r.rolname::text FROM '^(.*)_owner$') END
    AS prefix
  FROM pg_class c JOIN space ON c.relnamespace = space.oid JOIN pg_roles r ON r.oid = c.relowner
  WHERE c.relname = 'privet_entries'
), people AS (
  SELECT 0::oid AS oid, 'PUBLIC' AS word
  UNION ALL SELECT oid, 'the owner' FROM owner
  UNION ALL SELECT r.oid, CASE WHEN r.rolname = owner.prefix || '_analyst' THEN 'the analyst'
    WHEN r.rolname = owner.prefix || '_auditor' THEN 'the auditor'
    ELSE quote_ident(r.rolname) END FROM pg_roles r, owner WHERE r.oid <> owner.oid
), tables AS (
  SELECT c.* FROM pg_class c JOIN space ON c.relnamespace = space.oid
  WHERE c.relname IN ('privet_entries', 'privet_ledger', 'privet_answers')
), relations AS (  -- with indices of any name, and whatever else has a name of ours
  SELECT c.* FROM pg_class c JOIN space ON c.relnamespace = space.oid
  WHERE starts_with(c.relname::text, 'privet_')
    OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid IN (SELECT oid FROM tables))
), types AS (
  SELECT t.* FROM pg_type t JOIN space ON t.typnamespace = space.oid
  WHERE ltrim(t.typname::text, '_') LIKE 'privet%'
), functions AS (
  SELECT p.* FROM pg_proc p JOIN space ON p.pronamespace = space.oid
  WHERE starts_with(p.proname::text, 'privet_')
), ours AS (
  SELECT 'pg_class'::regclass::oid AS class, oid FROM relations
  UNION ALL SELECT 'pg_class'::regclass, reltoastrelid FROM tables
  UNION ALL SELECT 'pg_type'::regclass, oid FROM types
  UNION ALL SELECT 'pg_proc'::regclass, oid FROM functions
  UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint
    WHERE conrelid IN (SELECT oid FROM tables)
  UNION ALL SELECT 'pg_attrdef'::regclass, oid FROM pg_attrdef
    WHERE adrelid IN (SELECT oid FROM tables)
  UNION ALL SELECT 'pg_trigger'::regclass, oid FROM pg_trigger
    WHERE tgrelid IN (SELECT oid FROM tables)
), granted AS (
  SELECT format('table %I', c.relname) AS thing, a.* FROM tables c, aclexplode(c.relacl) a
    WHERE a.grantee <> c.relowner
  UNION ALL SELECT format('column %I.%I', c.relname, t.attname), a.* FROM tables c
    JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a WHERE a.grantee <> c.relowner
  UNION ALL SELECT format('type %I', t.typname), a.*
    FROM types t, aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) a
    WHERE a.grantee <> t.typowner AND t.typelem = 0
  UNION ALL SELECT format('function %I', p.proname), a.*
    FROM functions p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
    WHERE a.grantee <> p.proowner
), facts (fact) AS (
  SELECT format('%s %I of %s: %s, %s, %s%s%s%s', CASE c.relkind WHEN 'r' THEN 'table'
      WHEN 'i' THEN 'index' ELSE format('relation (%s)', c.relkind) END, c.relname, w.word,
      CASE c.relpersistence WHEN 'p' THEN 'kept' ELSE 'not kept' END, m.amname,
      CASE WHEN c.relrowsecurity OR c.relforcerowsecurity THEN 'row security' ELSE 'all rows' END,
      CASE WHEN c.relkind = 'r' AND c.relreplident <> 'd' THEN ', another replica identity' END,
      CASE WHEN c.relispartition OR c.reloftype <> 0 THEN ', part of another' END,
      ', ' || array_to_string(c.reloptions || (SELECT o.reloptions FROM pg_class o
        WHERE o.oid = c.reltoastrelid), ', '))
    FROM relations c LEFT JOIN people w ON w.oid = c.relowner LEFT JOIN pg_am m ON m.oid = c.relam
  UNION ALL SELECT format('column %I.%s: %s, %s%s%s%s%s%s%s', c.relname,
      CASE WHEN t.attisdropped THEN format('%s, removed', t.attnum) ELSE quote_ident(t.attname) END,
      format_type(t.atttypid, t.atttypmod), CASE WHEN t.attnotnull THEN 'not null' ELSE 'null' END,
      ', default ' || pg_get_expr(d.adbin, d.adrelid),
      ', collation ' || CASE WHEN t.attcollation NOT IN (0, 100) THEN t.attcollation::text END,
      CASE WHEN t.attidentity <> '' OR t.attgenerated <> '' THEN ', generated' END,
      CASE WHEN t.attinhcount <> 0 OR NOT t.attislocal THEN ', inherited' END,
      CASE WHEN t.attstorage <> y.typstorage THEN ', stored otherwise' END,  -- or no long text fits
      ', ' || array_to_string(t.attoptions || t.attfdwoptions, ', '))
    FROM tables c JOIN pg_attribute t ON t.attrelid = c.oid AND t.attnum > 0
    LEFT JOIN pg_type y ON y.oid = t.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = t.attnum
  UNION ALL SELECT format('constraint %I on %I: %s of %s%s', o.conname, c.relname, o.contype,
      (SELECT string_agg(t.attname::text, ', ' ORDER BY array_position(o.conkey, t.attnum))
        FROM pg_attribute t WHERE t.attrelid = c.oid AND t.attnum = ANY (o.conkey)),
      CASE WHEN o.condeferrable OR o.condeferred OR NOT o.convalidated OR o.conparentid <> 0
        OR NOT o.conislocal OR o.confrelid <> 0 THEN ', not as it was made' END)
    FROM tables c JOIN pg_constraint o ON o.conrelid = c.oid
    WHERE o.contype <> 'n' OR NOT o.convalidated  -- some servers name what a column says already
  UNION ALL SELECT format('index %I on %I (%s)%s%s', x.relname, c.relname,
      (SELECT string_agg(concat(coalesce(t.attname::text, 'expression'),
          CASE WHEN p.opcnamespace <> 'pg_catalog'::regnamespace OR NOT p.opcdefault
            OR p.opcmethod <> x.relam THEN ' ordered otherwise' END,
          CASE WHEN i.indcollation[k] <> coalesce(t.attcollation, 0) OR i.indoption[k] <> 0
            THEN ' sorted otherwise' END), ', ' ORDER BY k)
        FROM generate_series(0, i.indnkeyatts - 1) k
        LEFT JOIN pg_attribute t ON t.attrelid = c.oid AND t.attnum = i.indkey[k]
        LEFT JOIN pg_opclass p ON p.oid = i.indclass[k]),
      CASE WHEN i.indisprimary THEN ', primary' WHEN i.indisunique THEN ', unique' END,
      CASE WHEN i.indexprs IS NOT NULL OR i.indpred IS NOT NULL OR i.indnatts <> i.indnkeyatts
        OR NOT (i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate)
        OR i.indisexclusion OR i.indisreplident
        OR to_jsonb(i)->>'indnullsnotdistinct' = 'true' THEN ', not as it was made' END)
    FROM tables c JOIN pg_index i ON i.indrelid = c.oid JOIN pg_class x ON x.oid = i.indexrelid
  UNION ALL SELECT format('trigger %I on %I: %s, %s, %s%s', g.tgname, c.relname, g.tgtype,
      CASE g.tgenabled WHEN 'A' THEN 'O' ELSE g.tgenabled END,  -- an earlier release's is no 'A'
      CASE WHEN f.oid IS NULL THEN 'a function elsewhere' ELSE f.proname::text END,
      CASE WHEN g.tgisinternal OR g.tgdeferrable OR g.tginitdeferred OR g.tgconstraint <> 0
        OR g.tgqual IS NOT NULL OR g.tgnargs <> 0 OR g.tgattr::text <> ''
        OR g.tgoldtable IS NOT NULL OR g.tgnewtable IS NOT NULL THEN ', not as it was made' END)
    FROM tables c JOIN pg_trigger g ON g.tgrelid = c.oid LEFT JOIN functions f ON f.oid = g.tgfoid
  UNION ALL SELECT format('function %I(%s) of %s: %s, %s, %s, %s, %s, %s%s, %s',
      p.proname, replace(pg_get_function_arguments(p.oid), quote_ident('@schema@') || '.', ''),
      w.word, replace(pg_get_function_result(p.oid), quote_ident('@schema@') || '.', ''), l.lanname,
      concat(p.prokind, p.provolatile, p.proparallel, p.procost), CASE WHEN p.prosecdef
        THEN 'with its owner''s rights' ELSE 'with the caller''s rights' END,
      array_to_string(p.proconfig, '; '), CASE WHEN p.proisstrict OR p.proleakproof
        OR p.provariadic <> 0 OR p.prosupport <> 0 OR p.probin IS NOT NULL
        OR p.protrftypes IS NOT NULL OR to_jsonb(p)->>'prosqlbody' IS NOT NULL
        THEN 'not as it was made' ELSE 'plain' END,
      CASE WHEN l.lanowner <> 10 THEN ', another language' END,
      encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex'))
    FROM functions p LEFT JOIN people w ON w.oid = p.proowner JOIN pg_language l ON l.oid = p.prolang
  UNION ALL SELECT format('type %I of %s: %s', t.typname, w.word, t.typtype)
    FROM types t LEFT JOIN people w ON w.oid = t.typowner
  UNION ALL SELECT format('%s on %s for %s%s', g.privilege_type, g.thing,
      coalesce(w.word, g.grantee::text),
      CASE WHEN g.is_grantable THEN ', who may pass it on' END)
    FROM granted g LEFT JOIN people w ON w.oid = g.grantee
  UNION ALL SELECT format('rule %I on %I', r.rulename, c.relname)
    FROM tables c JOIN pg_rewrite r ON r.ev_class = c.oid
  UNION ALL SELECT format('policy %I on %I', r.polname, c.relname)
    FROM tables c JOIN pg_policy r ON r.polrelid = c.oid
  UNION ALL SELECT format('statistics %I on %I', r.stxname, c.relname)
    FROM tables c JOIN pg_statistic_ext r ON r.stxrelid = c.oid
  UNION ALL SELECT format('%s inherits %s', r.inhrelid::regclass, r.inhparent::regclass)
    FROM pg_inherits r WHERE r.inhrelid IN (SELECT oid FROM tables)
      OR r.inhparent IN (SELECT oid FROM tables)
  UNION ALL SELECT format('a security label on %s',
      pg_describe_object(r.classoid, r.objoid, r.objsubid))
    FROM pg_seclabel r JOIN ours ON ours.class = r.classoid AND ours.oid = r.objoid
  -- Whoever may read can make a view or a function of it, elsewhere and with rights of his own. And
  -- every login can write the table's name (regclass) into a default or a condition of a table of
  -- its own, which hangs on the table as a whole: nothing of it is run here. A foreign key hangs on
  -- columns, a column of the ledger's type is one itself.
  UNION ALL SELECT format('%s, which hangs on %s',
      pg_describe_object(d.classid, d.objid, d.objsubid), r.oid::regclass)
    FROM pg_depend d JOIN relations r ON d.refclassid = 'pg_class'::regclass AND r.oid = d.refobjid
      OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (r.reltype, (SELECT typarray
        FROM types WHERE types.oid = r.reltype)) AND d.classid = 'pg_class'::regclass
    WHERE (d.classid, d.objid) NOT IN (SELECT class, oid FROM ours)
      AND d.classid NOT IN ('pg_rewrite'::regclass, 'pg_proc'::regclass, 'pg_policy'::regclass)
      AND (d.deptype <> 'n' OR d.refobjsubid <> 0 OR d.objsubid <> 0)
  UNION ALL SELECT format('a cast from %s to %s', r.castsource::regtype, r.casttarget::regtype)
    FROM pg_cast r WHERE r.castsource IN (SELECT oid FROM types)
      OR r.casttarget IN (SELECT oid FROM types)
  UNION ALL SELECT format('a subscription writes to %I', c.relname)
    FROM tables c JOIN pg_subscription_rel r ON r.srrelid = c.oid
  UNION ALL SELECT format('%s depends on %s', pg_describe_object(d.classid, d.objid, d.objsubid),
      pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid))
    FROM pg_depend d JOIN ours ON ours.class = d.classid AND ours.oid = d.objid
    WHERE (d.refclassid, d.refobjid) NOT IN (SELECT class, oid FROM ours)
      AND d.refclassid NOT IN ('pg_namespace'::regclass, 'pg_language'::regclass)
  -- a function or a view lends its owner's rights, a table runs functions of its indices with them
  UNION ALL SELECT format('%s of the owner', pg_describe_object(d.classid, d.objid, d.objsubid))
    FROM pg_shdepend d JOIN owner ON owner.oid = d.refobjid AND owner.prefix IS NOT NULL, space
    WHERE d.refclassid = 'pg_authid'::regclass AND d.deptype = 'o'
      AND d.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (d.classid, d.objid) NOT IN (SELECT class, oid FROM ours
        UNION ALL SELECT 'pg_namespace'::regclass, space.oid)
  UNION ALL SELECT 'rights by default for what the owner makes'
    FROM pg_default_acl r JOIN owner ON owner.oid = r.defaclrole AND owner.prefix IS NOT NULL
    WHERE r.defaclnamespace IN (SELECT 0::oid UNION ALL SELECT oid FROM space)
  UNION ALL SELECT format('%s may drop the schema''s tables and make others', r.rolname)
    FROM space JOIN pg_roles r ON r.oid = space.nspowner, owner
    WHERE NOT pg_has_role(r.oid, owner.oid, 'MEMBER') AND r.rolname <> 'pg_database_owner'
      AND r.oid <> (SELECT datdba FROM pg_database WHERE datname = current_database())
  UNION ALL SELECT format('CREATE on the schema for %s', coalesce(w.word, a.grantee::text))
    FROM space, owner, aclexplode(space.nspacl) a LEFT JOIN people w ON w.oid = a.grantee
    WHERE owner.prefix IS NOT NULL AND a.privilege_type = 'CREATE'
      AND a.grantee NOT IN (space.nspowner, owner.oid)
  UNION ALL SELECT format('%s: more than a role of the ledger needs (attributes)', w.word)
    FROM pg_roles r JOIN people w ON w.oid = r.oid JOIN owner ON owner.prefix IS NOT NULL
    WHERE w.word LIKE 'the %' AND (r.rolsuper OR r.rolcreaterole OR r.rolcreatedb
      OR r.rolreplication OR r.rolbypassrls OR r.rolcanlogin)
  UNION ALL SELECT format('%s is a member of %s', w.word, pg_get_userbyid(a.roleid))
    FROM pg_auth_members a JOIN people w ON w.oid = a.member JOIN owner ON owner.prefix IS NOT NULL
    WHERE w.word LIKE 'the %'
)
SELECT fact FROM facts
