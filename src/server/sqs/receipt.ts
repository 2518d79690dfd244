import { type KeyObject, createHmac, createSecretKey, hash, timingSafeEqual } from "node:crypto";
import { cellOf, handleOf } from "../../cells/handle.js";
import type { JobId } from "../../db/types.js";
import { SqsError } from "./wire/errors.js";

/** What a receipt handle stands for. */
export interface Receipt {
  readonly id: JobId;
  readonly token: string;
  /** When the message was received, in milliseconds on the database's clock. */
  readonly receivedAt: number;
}

/** Handles begin with it in base64: AQEB. */
const mark = Buffer.of(1, 1, 1);
const contentBytes = mark.length + 8 + 16 + 6;
const sealBytes = 18;
const maxCellBytes = 31;

/** The secret of a cell; of the only one, or the first of several, without a name. Undefined: there is no such cell. */
export type SecretOf = (cell: string | undefined) => Promise<Buffer | undefined>;

/**
 * Writes and reads receipt handles. Only what was written with the secret of the same cell, for the same queue, is
 * read. With several cells, the name of the message's stands behind the rest.
 */
export class Receipts {
  readonly #keys = new Map<string | undefined, Promise<KeyObject | undefined>>();

  constructor(private readonly secretOf: SecretOf) {}

  /** Writes for the messages of these jobs. */
  async writer(queue: string, ids: readonly JobId[]): Promise<(receipt: Receipt) => string> {
    const keys = new Map<string | undefined, KeyObject>();
    for (const cell of new Set(ids.map(cellOf))) keys.set(cell, (await this.#keyOf(cell))!);
    return ({ id, token, receivedAt }) => {
      const cell = cellOf(id);
      const content = Buffer.alloc(contentBytes);
      mark.copy(content);
      content.writeBigUInt64BE(BigInt(cell === undefined ? id : id.slice(cell.length + 1)), 3);
      content.write(token.replaceAll("-", ""), 11, "hex");
      content.writeUIntBE(receivedAt, 27, 6);
      const named = cell === undefined ? content : Buffer.concat([content, Buffer.from(cell)]);
      return Buffer.concat([named, seal(keys.get(cell)!, named, queue)]).toString("base64");
    };
  }

  async read(queue: string, handle: string): Promise<Receipt> {
    const bytes = /^AQEB[A-Za-z0-9+/=]+$/.test(handle) ? Buffer.from(handle, "base64") : Buffer.alloc(0);
    const content = bytes.subarray(0, -sealBytes);
    const cellBytes = content.length - contentBytes;
    const cell = cellBytes === 0 ? undefined : content.toString("latin1", contentBytes);
    const key = cellBytes >= 0 && cellBytes <= maxCellBytes ? await this.#keyOf(cell) : undefined;
    if (!key || !timingSafeEqual(bytes.subarray(-sealBytes), seal(key, content, queue))) {
      throw new SqsError(
        "ReceiptHandleIsInvalid",
        `The input receipt handle "${handle}" is not a valid receipt handle.`,
      );
    }
    const token = content.toString("hex", 11, 27).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    const id = String(content.readBigUInt64BE(3));
    return { id: cell === undefined ? id : handleOf(cell, id), token, receivedAt: content.readUIntBE(27, 6) };
  }

  /** Read once: it never changes. A cell that is not there may be there later. */
  #keyOf(cell: string | undefined): Promise<KeyObject | undefined> {
    let key = this.#keys.get(cell);
    if (!key) {
      key = this.secretOf(cell).then((secret) => secret && createSecretKey(secret));
      this.#keys.set(cell, key);
      const forget = (): void => void this.#keys.delete(cell);
      key.then((found) => found ?? forget(), forget);
    }
    return key;
  }
}

function seal(key: KeyObject, content: Buffer, queue: string): Buffer {
  return createHmac("sha256", key).update(content).update(queue).digest().subarray(0, sealBytes);
}

/**
 * The id of a message: a job's id that looks like a UUID. The job's 16 hexadecimal digits are the first 15 that say
 * nothing of a version, and the one after the variant; the rest is a hash of them, so that ids given out one after
 * another do not look alike, and of the name of the cell, where there are several.
 */
export function messageIdOf(handle: JobId): string {
  const cell = cellOf(handle);
  const id = cell === undefined ? handle : handle.slice(cell.length + 1);
  const digits = BigInt(id).toString(16).padStart(16, "0");
  const rest = hash("sha256", cell === undefined ? digits : handleOf(cell, digits));
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(12, 15)}-a${digits[15]}${rest.slice(0, 2)}-${rest.slice(2, 14)}`;
}

/** The job of a message id, which may be of these cells; undefined when it is none. */
export function jobIdOf(messageId: string, cells: readonly (string | undefined)[] = [undefined]): JobId | undefined {
  const digits = messageId.replaceAll("-", "");
  if (!/^[0-9a-f]{32}$/.test(digits)) return undefined;
  const id = BigInt(`0x${digits.slice(0, 12)}${digits.slice(13, 16)}${digits[17]}`).toString();
  return cells
    .map((cell) => (cell === undefined ? id : handleOf(cell, id)))
    .find((handle) => messageIdOf(handle) === messageId);
}
