import type { TestDatabase } from "../support/database.js";

/**
 * The schema as text, from the catalogs: the embedded server comes without pg_dump. One line per object, ring children
 * folded into their first one, functions by signature, properties and a digest of their body.
 */
export async function dumpSchema(db: TestDatabase, schema = "millrace"): Promise<string> {
  const client = await db.connect();
  await client.query("select set_config('search_path', $1, false)", [schema]); // else expressions name the schema
  const { rows } = await client.query<{ line: string }>(
    `
    with kind as (select c.oid, c.relname, c.relkind, c.reloptions from pg_class c where c.relnamespace = $1::regnamespace and c.relname !~ '_(0[1-9]|[1-3][0-9]|[1-7])(_|$)')
    select line from (
      select 1 as part, 'table ' || relname || coalesce(' with (' || array_to_string(reloptions, ', ') || ')', '') || coalesce(' partition by ' || pg_get_partkeydef(oid), '') as line
        from kind where relkind in ('r', 'p')
      union all
      select 2, 'column ' || k.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
             || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') || case when a.attstorage = 'e' then ' external' else '' end
        from kind k join pg_attribute a on a.attrelid = k.oid and a.attnum > 0 and not a.attisdropped left join pg_attrdef d on d.adrelid = k.oid and d.adnum = a.attnum
       where k.relkind in ('r', 'p')
      union all
      select 3, 'constraint ' || k.relname || ' ' || c.conname || ' ' || pg_get_constraintdef(c.oid) from kind k join pg_constraint c on c.conrelid = k.oid where c.contype <> 'n'
      union all
      select 4, pg_get_indexdef(i.indexrelid) from kind k join pg_index i on i.indrelid = k.oid
      union all
      select 5, 'view ' || k.relname || ' ' || md5(pg_get_viewdef(k.oid)) from kind k where k.relkind = 'v'
      union all
      select 6, 'function ' || p.proname || '(' || pg_get_function_arguments(p.oid) || ') returns ' || coalesce(pg_get_function_result(p.oid), 'record') || ' ' || l.lanname || ' ' || p.provolatile::text
             || case when p.prosecdef then ' security definer' else '' end || coalesce(' set ' || array_to_string(p.proconfig, ', '), '') || ' ' || md5(p.prosrc)
        from pg_proc p join pg_language l on l.oid = p.prolang where p.pronamespace = $1::regnamespace
      union all
      select 7, 'type ' || t.typname || ' ' || string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_type t join pg_enum e on e.enumtypid = t.oid where t.typnamespace = $1::regnamespace group by t.typname
      union all
      select 8, 'children of ' || p.relname || ': ' || count(*) from pg_inherits i join pg_class p on p.oid = i.inhparent where p.relnamespace = $1::regnamespace and p.relkind = 'p' group by p.relname
    ) x order by part, line collate "C"`,
    [schema],
  );
  return `${rows.map(({ line }) => line.replaceAll(`${schema}.`, "").replaceAll(`search_path=${schema}`, "search_path=<schema>")).join("\n")}\n`;
}
