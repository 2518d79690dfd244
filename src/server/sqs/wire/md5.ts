import { createHash, type Hash } from "node:crypto";
import type { AttributeValue } from "./model.js";

/** The hash of a message body that clients compare. */
export function md5OfBody(body: string): string {
  return createHash("md5").update(body, "utf8").digest("hex");
}

/**
 * The hash of message attributes, the user's or the system's; undefined without any, for then it must be absent.
 * Names in the order of their bytes; for each its name, type and value, all after their length; before the value a byte
 * that tells text (1) from bytes (2), and lists of them (3, 4).
 */
export function md5OfAttributes(attributes: Readonly<Record<string, AttributeValue>> | undefined): string | undefined {
  const entries = Object.entries(attributes ?? {}).map(([name, value]) => ({ name: Buffer.from(name), value }));
  if (entries.length === 0) return undefined;
  const hash = createHash("md5");
  for (const { name, value } of entries.sort((a, b) => Buffer.compare(a.name, b.name))) {
    addSized(hash, name);
    addSized(hash, Buffer.from(value.DataType));
    if (value.StringValue !== undefined) addValues(hash, 1, [value.StringValue]);
    else if (value.BinaryValue !== undefined) addValues(hash, 2, [value.BinaryValue]);
    else if (value.StringListValues?.length) addValues(hash, 3, value.StringListValues);
    else if (value.BinaryListValues?.length) addValues(hash, 4, value.BinaryListValues);
  }
  return hash.digest("hex");
}

function addValues(hash: Hash, marker: number, values: readonly (string | Buffer)[]): void {
  hash.update(Buffer.of(marker));
  for (const value of values) addSized(hash, Buffer.from(value as string));
}

function addSized(hash: Hash, bytes: Buffer): void {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(bytes.length);
  hash.update(size).update(bytes);
}
