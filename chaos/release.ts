import { cpSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const home = fileURLToPath(new URL("..", import.meta.url));

/** A release after this one, in a folder of its own: one more migration, and all functions and views put in anew. */
export interface NewerRelease {
  /** The compiled suite beside it, whose children use it. */
  readonly suite: string;
  readonly cli: string;
  remove(): void;
}

/**
 * Columns in tables that every job goes through: their rows are read whole by functions that sessions have planned
 * already.
 */
const migration = `
  alter table job add column newer text;
  alter table claim add column newer int not null default 7;
  alter table lane_cursor add column newer text;
  create table newer (id bigint primary key);`;

/** What takes the place of the two generated modules; `NAME.released.js` is the one of this release. */
const generated = {
  sql: `
  import { functionsText as text, migrations as released } from "./sql.released.js";
  const number = released.at(-1).number + 1;
  export const migrations = [...released, { number, name: "newer", checksum: "newer", text: ${JSON.stringify(migration)} }];
  export const functionsText = text + "create or replace function newer_release() returns int language sql as $$ select 1 $$;";`,
  release: `
  import { functionsChecksum as checksum, schemaVersion as version } from "./release.released.js";
  export const schemaVersion = version + 1;
  export const functionsChecksum = checksum + "newer";`,
};

export function makeNewerRelease(): NewerRelease {
  const folder = mkdtempSync(path.join(tmpdir(), "millrace-newer-"));
  for (const part of ["dist", "dist-chaos", "package.json"])
    cpSync(path.join(home, part), path.join(folder, part), { recursive: true });
  symlinkSync(path.join(home, "node_modules"), path.join(folder, "node_modules"));
  for (const [name, text] of Object.entries(generated)) {
    const module = path.join(folder, `dist/db/${name}.generated.js`);
    renameSync(module, path.join(folder, `dist/db/${name}.released.js`));
    writeFileSync(module, text);
  }
  return {
    suite: path.join(folder, "dist-chaos"),
    cli: path.join(folder, "dist/cli/main.js"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
