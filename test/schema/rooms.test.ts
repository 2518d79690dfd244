import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";

const sql = new URL("../../sql/", import.meta.url);
const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const rooms = readdirSync(sql, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "migrations")
  .map(({ name }) => name);

/** Every function with the room and the file it is in. */
const functions = rooms.flatMap((room) =>
  readdirSync(new URL(`${room}/`, sql))
    .filter((file) => file.endsWith(".sql"))
    .flatMap((file) =>
      [...read(`sql/${room}/${file}`).matchAll(/^create or replace function (\w+)/gm)].map(([, name]) => ({
        name: name!,
        room,
        file: file.slice(0, -".sql".length),
      })),
    ),
);
const roomOf = new Map(functions.map(({ name, room }) => [name, room]));

/** The functions that role_grant lets roles call, and itself. */
const granted = [
  "role_grant",
  ...[...read("sql/access/role_grant.sql").matchAll(/v_\w+ constant text\[\] := '\{([\w,\s]+)\}'/g)].flatMap(
    ([, list]) => list!.trim().split(/,\s*/),
  ),
];

describe("rooms of the engine", () => {
  it("have each public function in a file of its own name, and no other public one in it", () => {
    expect(granted.length).toBeGreaterThan(80);
    const isPublic = new Set(granted);
    const places = functions.filter(({ name }) => isPublic.has(name));
    expect(places.map(({ name }) => name).toSorted()).toEqual(granted.toSorted());
    expect(places.filter(({ name, file }) => name !== file)).toEqual([]);
  });

  it("have each function once", () => {
    const names = functions.map(({ name }) => name);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  it("have a README each, and a line in that of the engine", () => {
    const page = read("sql/README.md");
    const listed = [...page.matchAll(/^\| \[(\w+)\]\(\1\/README\.md\) \|/gm)].map(([, room]) => room!);
    expect(listed.toSorted()).toEqual(rooms.toSorted());
    for (const room of rooms) expect(read(`sql/${room}/README.md`)).toContain("\n## Invariants\n");
  });

  it("name each of their files in their README", () => {
    const files = [...new Set(functions.map(({ room, file }) => `${room}/${file}`))];
    const isNamed = (path: string): boolean => {
      const [room, file] = path.split("/") as [string, string];
      return read(`sql/${room}/README.md`).includes(`\`${file}`);
    };
    expect(files.filter((path) => !isNamed(path))).toEqual([]);
  });

  it("have their words in the glossary", () => {
    const glossary = read("sql/README.md").split("\n## Glossary\n")[1]!;
    const words = functions.filter(({ room, file }) => room === "base" && file === "words").map(({ name }) => name);
    expect(words.length).toBeGreaterThan(10);
    expect(words.filter((word) => !glossary.includes(`\`${word}\``))).toEqual([]);
  });

  it("have the verbs of the library in files of the same names", () => {
    const files = readdirSync(new URL("../../src/db/verbs/", import.meta.url)).filter((file) => file !== "verbs.ts");
    // A payload is checked before it is sent; groups have one verb, which stands with those of queues.
    const elsewhere: Readonly<Record<string, string>> = { cell_status: "enqueue", group_put: "queue" };
    const calls = files.flatMap((file) =>
      [...read(`src/db/verbs/${file}`).matchAll(/this\.(?:db\.\w+|#\w+)(?:<[^(]*>)?\(\s*"(\w+)"/g)]
        .map(([, name]) => name!)
        .filter((name) => roomOf.has(name))
        .map((name) => ({ name, file, expected: `${elsewhere[name] ?? roomOf.get(name)}.ts` })),
    );
    expect(calls.length).toBeGreaterThan(50);
    expect(calls.filter(({ file, expected }) => file !== expected)).toEqual([]);
  });
});

it("ARCHITECTURE.md says of every table what a row of it is", () => {
  const tables = [...read("sql/schema.dump.txt").matchAll(/^table (\w+)/gm)].map(([, name]) => name!);
  const model = read("ARCHITECTURE.md").split("\n## Data model\n")[1]!.split("\n## ")[0]!;
  const rows = [...model.matchAll(/^\|.*$/gm)].join("\n");
  expect(tables.length).toBeGreaterThan(45);
  expect(tables.filter((name) => !/_\d+$/.test(name) && !rows.includes(`\`${name}\``))).toEqual([]);
});

describe("the READMEs of rooms", () => {
  const plain = (definition: string) =>
    definition
      .replaceAll(/::[a-z_]+( with time zone)?/g, "")
      .replaceAll(/[()]/g, " ")
      .replaceAll(/\s+/g, " ")
      .trim()
      .toLowerCase();
  /** Those of the first ring child stand for all: `job_NN`, `ticket_N`. */
  const indexes = [
    ...read("sql/schema.dump.txt").matchAll(/^CREATE (?:UNIQUE )?INDEX (\w+) ON (\w+) USING btree (.*)$/gm),
  ].map(([, name, table, rest]) => ({
    name: name!,
    definition: plain(`${table!.replace(/_00$/, "_NN").replace(/_0$/, "_N")} ${rest!}`),
  }));
  const named = rooms.flatMap((room) =>
    [...(read(`sql/${room}/README.md`).split("\n## Indexes\n")[1] ?? "").matchAll(/`(\w+ \([^`]*|\w+)`/g)]
      .map(([, words]) => words!)
      .filter((words) => words.includes("(") || indexes.some(({ name }) => name === words)),
  );

  it("name only indexes that there are", () => {
    const known = new Set(indexes.flatMap(({ name, definition }) => [name, definition]));
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter((words) => !known.has(words) && !known.has(plain(words)))).toEqual([]);
  });

  it("name every index that is no primary key, with what it serves", () => {
    const told = new Set(named.flatMap((words) => [words, plain(words)]));
    const untold = indexes.filter(
      ({ name, definition }) => !/_(pkey|key)$/.test(name) && !told.has(name) && !told.has(definition),
    );
    expect(untold).toEqual([]);
  });
});
