import { type KeyObject, createHmac, createSecretKey, hash, timingSafeEqual } from "node:crypto";
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

/** Writes and reads receipt handles. Only what was written with the same secret, for the same queue, is read. */
export class Receipts {
  readonly #secret: KeyObject;

  constructor(secret: Buffer) {
    this.#secret = createSecretKey(secret);
  }

  write(queue: string, { id, token, receivedAt }: Receipt): string {
    const content = Buffer.alloc(contentBytes);
    mark.copy(content);
    content.writeBigUInt64BE(BigInt(id), 3);
    content.write(token.replaceAll("-", ""), 11, "hex");
    content.writeUIntBE(receivedAt, 27, 6);
    return Buffer.concat([content, this.#seal(content, queue)]).toString("base64");
  }

  read(queue: string, handle: string): Receipt {
    const bytes = /^AQEB[A-Za-z0-9+/]+$/.test(handle) ? Buffer.from(handle, "base64") : Buffer.alloc(0);
    const content = bytes.subarray(0, contentBytes);
    if (
      bytes.length !== contentBytes + sealBytes ||
      !timingSafeEqual(bytes.subarray(-sealBytes), this.#seal(content, queue))
    ) {
      throw new SqsError(
        "ReceiptHandleIsInvalid",
        `The input receipt handle "${handle}" is not a valid receipt handle.`,
      );
    }
    const token = content.toString("hex", 11, 27).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    return { id: String(content.readBigUInt64BE(3)), token, receivedAt: content.readUIntBE(27, 6) };
  }

  #seal(content: Buffer, queue: string): Buffer {
    return createHmac("sha256", this.#secret).update(content).update(queue).digest().subarray(0, sealBytes);
  }
}

/**
 * The id of a message: a job's id that looks like a UUID. The job's 16 hexadecimal digits are the first 15 that say
 * nothing of a version, and the one after the variant; the rest is a hash of them, so that ids given out one after
 * another do not look alike.
 */
export function messageIdOf(id: JobId): string {
  const digits = BigInt(id).toString(16).padStart(16, "0");
  const rest = hash("sha256", digits);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(12, 15)}-a${digits[15]}${rest.slice(0, 2)}-${rest.slice(2, 14)}`;
}

/** The job of a message id; undefined when it is none. */
export function jobIdOf(messageId: string): JobId | undefined {
  const digits = messageId.replaceAll("-", "");
  if (!/^[0-9a-f]{32}$/.test(digits)) return undefined;
  const id = BigInt(`0x${digits.slice(0, 12)}${digits.slice(13, 16)}${digits[17]}`).toString();
  return messageIdOf(id) === messageId ? id : undefined;
}
