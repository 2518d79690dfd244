import type { Kind, Members } from "./model.js";

/**
 * The members of an output that are written: what is absent or empty is left out, because clients tell the two apart
 * from "none".
 */
export function membersToWrite(
  output: unknown,
  members: Members,
): (readonly [name: string, kind: Kind, value: unknown])[] {
  const values = (output ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(members)
    .map(([name, kind]) => [name, kind, values[name]] as const)
    .filter(
      ([, kind, value]) =>
        value !== undefined && value !== null && (kind.isRequired || !isEmptyCollection(kind, value)),
    );
}

function isEmptyCollection(kind: Kind, value: unknown): boolean {
  if (kind.kind === "list") return (value as readonly unknown[]).length === 0;
  return kind.kind === "map" && Object.keys(value as object).length === 0;
}

/** How a protocol writes a map into JSON: as an object, or as a list of pairs. */
export type MapForm = "object" | "pairs";

/** An output as what `JSON.stringify` takes. */
export function plainMembers(output: unknown, members: Members, maps: MapForm): Record<string, unknown> {
  return Object.fromEntries(
    membersToWrite(output, members).map(([name, kind, value]) => [name, plainValue(value, kind, maps)]),
  );
}

function plainValue(value: unknown, kind: Kind, maps: MapForm): unknown {
  switch (kind.kind) {
    case "list":
      return (value as readonly unknown[]).map((item) => plainValue(item, kind.of, maps));
    case "map": {
      const entries = Object.entries(value as object).map(
        ([key, item]) => [key, plainValue(item, kind.of, maps)] as const,
      );
      return maps === "object"
        ? Object.fromEntries(entries)
        : entries.map(([key, item]) => ({ [kind.keyName]: key, Value: item }));
    }
    case "structure":
      return plainMembers(value, kind.members, maps);
    case "blob":
      return base64Of(value);
    default:
      return value;
  }
}

/** Bytes as both protocols write them. */
export function base64Of(value: unknown): string {
  return Buffer.from(value as Uint8Array).toString("base64");
}
