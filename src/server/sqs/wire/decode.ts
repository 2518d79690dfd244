import { SqsError, missingParameter } from "./errors.js";
import type { Kind, Members } from "./model.js";

/** Where values come from: the table is walked here, and each protocol tells how it finds and reads one of them. */
export interface Source<Node> {
  /** The node of a member, or undefined if the request has none. */
  member(node: Node, name: string, kind: Kind): Node | undefined;
  /** The items of a list, each with what stands for it in a parameter's name. */
  items(node: Node): readonly (readonly [index: string, item: Node])[];
  /** The entries of a map. */
  entries(node: Node, keyName: string): readonly (readonly [index: string, key: string, value: Node | undefined])[];
  /** Refuses what is no structure. */
  structure(node: Node): void;
  scalar(node: Node, kind: "string" | "integer" | "boolean"): string | number | boolean;
}

/** Read members out of a source. Objects have no prototype, so that a name such as `__proto__` is nothing but data. */
export function decodeMembers<Node>(
  source: Source<Node>,
  node: Node,
  members: Members,
  prefix = "",
): Record<string, unknown> {
  const result = emptyObject();
  for (const [name, kind] of Object.entries(members)) {
    const found = source.member(node, name, kind);
    if (found !== undefined) result[name] = decodeValue(source, found, kind, `${prefix}${wireNameOf(name, kind)}`);
    else if (kind.isRequired) result[name] = emptyOrMissing(kind, `${prefix}${name}`);
  }
  return result;
}

/** What Query calls a member: lists and maps go by the name of an item. */
export function wireNameOf(name: string, kind: Kind): string {
  return kind.kind === "list" || kind.kind === "map" ? kind.wireName : name;
}

function decodeValue<Node>(source: Source<Node>, node: Node, kind: Kind, name: string): unknown {
  switch (kind.kind) {
    case "list":
      return source.items(node).map(([index, item]) => decodeValue(source, item, kind.of, `${name}.${index}`));
    case "map": {
      const result = emptyObject();
      for (const [index, key, value] of source.entries(node, kind.keyName)) {
        if (value === undefined) throw missingParameter(`${name}.${index}.Value`);
        result[key] = decodeValue(source, value, kind.of, `${name}.${index}.Value`);
      }
      return result;
    }
    case "structure":
      source.structure(node);
      return decodeMembers(source, node, kind.members, `${name}.`);
    case "blob":
      return decodeBase64(source.scalar(node, "string") as string);
    default:
      return source.scalar(node, kind.kind);
  }
}

function emptyOrMissing(kind: Kind, name: string): unknown {
  if (kind.kind === "list") return [];
  if (kind.kind === "map") return emptyObject();
  throw missingParameter(name);
}

function emptyObject(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

/** Node's own decoder skips what is no base64; a client that sent such a thing should hear of it. */
function decodeBase64(text: string): Buffer {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw malformed("A binary value must be base64");
  return Buffer.from(text, "base64");
}

/** An integer as the service counts: 32 bits. */
export function isInteger(value: unknown): boolean {
  return Number.isInteger(value) && Math.abs(value as number) <= 2_147_483_647;
}

/** The refusal of a value that is not of the type the model names. */
export function malformed(message: string): SqsError {
  return new SqsError("SerializationException", message);
}
