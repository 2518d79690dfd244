import { type KeyObject, createHmac, createSecretKey, hash, timingSafeEqual } from "node:crypto";
import { SqsError } from "./errors.js";
import { pairsOf, unescape } from "./form.js";
import { type WireHead, type WireRequest, headerOf, targetOf } from "./request.js";

/**
 * AWS Signature Version 4: who sent a request, and that nobody changed it on the way.
 *
 * It does not tell a request from its copy, and neither do we: AWS takes copies within the window, too, and a memory of
 * signatures would refuse honest clients. The signed time counts in seconds, and boto3 and kombu sign nothing that
 * differs between two polls or two equal messages of one second, so that these carry the same signature. Against copies
 * stand TLS, the window below, receipt handles, and the deduplication of FIFO queues.
 */

/** Someone who may sign. */
export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The account its queues belong to, 12 digits. Default `000000000000`. */
  readonly account?: string;
}

/** Who asks, and for which region. */
export interface Caller {
  readonly account: string;
  readonly region: string;
}

/** The account of keys that name none. */
export const defaultAccount = "000000000000";
const defaultRegion = "us-east-1";

/** How far a client's clock may be from ours, either way. */
const windowMs = 15 * 60_000;
/** The longest a presigned URL may be good for: a week. */
const maxExpirySeconds = 604_800;

const algorithm = "AWS4-HMAC-SHA256";
const unsignedPayload = "UNSIGNED-PAYLOAD";

/**
 * Check the signature of a request. Throws a refusal if there is none, or none of ours, or not of this request, or not
 * of this time.
 */
export function verifySignature(
  request: WireRequest,
  keys: readonly AccessKey[],
  now: number,
  checked = checkClaim(request, keys, now),
): Caller {
  const { claim, key } = checked;
  const payload = payloadHashOf(request, claim);
  const candidates = canonicalQueries(claim.search).map((query) => canonicalRequest(request, claim, query, payload));
  if (!candidates.some((candidate) => isSignedBy(claim, key, candidate))) throw mismatch(candidates[0]!);
  return { account: key.account ?? defaultAccount, region: claim.region };
}

/** What a signature says of itself, and the key of ours it names: right as far as that can be told without the body. */
export interface CheckedClaim {
  readonly claim: Claim;
  readonly key: AccessKey;
}

/**
 * What a request says of its signature. Throws what can be told of that before the body is read: so nothing is read for
 * those nobody knows.
 */
export function checkClaim(request: WireHead, keys: readonly AccessKey[], now: number): CheckedClaim {
  const claim = claimOf(request);
  const key = keyOf(keys, claim.accessKeyId);
  if (!key) throw new SqsError("UnrecognizedClientException");
  refuseForeignScope(claim);
  refuseUnsigned(request, claim);
  refuseWrongTime(claim, now);
  return { claim, key };
}

/** Lists of keys, by their ids: there may be very many of them. */
const keysById = new WeakMap<readonly AccessKey[], ReadonlyMap<string, AccessKey>>();

function keyOf(keys: readonly AccessKey[], id: string): AccessKey | undefined {
  let byId = keysById.get(keys);
  if (!byId) keysById.set(keys, (byId = new Map(keys.toReversed().map((key) => [key.accessKeyId, key]))));
  return byId.get(id);
}

/** Who a request says it is from, unchecked: for development, where clients send any keys or none. */
export function trustClaim(request: WireRequest): Caller {
  try {
    return { account: defaultAccount, region: claimOf(request).region };
  } catch {
    return { account: defaultAccount, region: defaultRegion };
  }
}

/** What a signature says of itself. */
interface Claim {
  readonly accessKeyId: string;
  /** The parts of the scope: day, region, service and a fixed end. */
  readonly day: string;
  readonly region: string;
  readonly service: string;
  readonly end: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  /** When it was made, in the form `20250603T040308Z`, and in milliseconds. */
  readonly date: string;
  readonly madeAt: number;
  /** How long it is good for. */
  readonly expiryMs: number;
  /** The query string it covers. */
  readonly search: string;
  /** The hash of the body it was made with, where it names one. */
  readonly payload: string | undefined;
}

function claimOf(request: WireHead): Claim {
  const authorization = headerOf(request, "authorization");
  if (authorization !== undefined) return headerClaim(request, authorization);
  const { search } = targetOf(request);
  if (/(?:^|&)X-Amz-(?:Signature|Algorithm|Credential)=/.test(search)) return presignedClaim(request, search);
  throw new SqsError("MissingAuthenticationTokenException");
}

function headerClaim(request: WireHead, authorization: string): Claim {
  if (!authorization.startsWith(`${algorithm} `))
    throw incomplete(`Authorization header requires the algorithm ${algorithm}.`);
  const fields = authorization
    .slice(algorithm.length)
    .split(",")
    .map((field) => words(field).join(" ").split("=", 2) as [string, string | undefined]);
  const { Credential, Signature, SignedHeaders } = Object.fromEntries(fields);
  const date = headerOf(request, "x-amz-date") ?? basicDate(headerOf(request, "date"));
  if (!Credential || !Signature || !SignedHeaders || fields.length !== 3)
    throw incomplete(
      "Authorization header requires the parameters 'Credential', 'SignedHeaders' and 'Signature', and no others.",
    );
  if (date === undefined)
    throw incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.");
  return {
    ...scopeOf(Credential),
    ...datesOf(date),
    signedHeaders: SignedHeaders.split(";"),
    signature: Signature,
    expiryMs: windowMs,
    search: targetOf(request).search,
    payload: headerOf(request, "x-amz-content-sha256"),
  };
}

function presignedClaim(request: WireHead, search: string): Claim {
  const pairs = pairsOf(search);
  const fields = new Map(pairs.map(([name, value]) => [unescape(name), unescape(value)]));
  const field = (name: string): string => {
    const value = fields.get(name);
    if (!value) throw incomplete(`AWS query-string parameters must include '${name}'.`);
    return value;
  };
  if (field("X-Amz-Algorithm") !== algorithm) throw incomplete(`Unsupported AWS 'algorithm': it must be ${algorithm}.`);
  const expiry = field("X-Amz-Expires");
  if (!/^\d{1,6}$/.test(expiry) || Number(expiry) > maxExpirySeconds)
    throw incomplete(`'X-Amz-Expires' must be at most ${maxExpirySeconds} seconds.`);
  return {
    ...scopeOf(field("X-Amz-Credential")),
    ...datesOf(field("X-Amz-Date")),
    signedHeaders: field("X-Amz-SignedHeaders").split(";"),
    signature: field("X-Amz-Signature"),
    expiryMs: Number(expiry) * 1000,
    search: pairs
      .filter(([name]) => unescape(name) !== "X-Amz-Signature")
      .map((pair) => pair.join("="))
      .join("&"),
    payload: fields.get("X-Amz-Content-Sha256") ?? headerOf(request, "x-amz-content-sha256"),
  };
}

/** The parts of `KEY/20250603/eu-central-1/sqs/aws4_request`. */
function scopeOf(credential: string): Pick<Claim, "accessKeyId" | "day" | "region" | "service" | "end"> {
  const [accessKeyId, day, region, service, end, ...more] = credential.split("/");
  if (!accessKeyId || !day || !region || !service || !end || more.length > 0 || !/^[\w-]{1,64}$/.test(region))
    throw incomplete("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.");
  return { accessKeyId, day, region, service, end };
}

function datesOf(date: string): Pick<Claim, "date" | "madeAt"> {
  const at = (from: number, to: number): string => date.slice(from, to);
  const madeAt = /^\d{8}T\d{6}Z$/.test(date)
    ? Date.parse(`${at(0, 4)}-${at(4, 6)}-${at(6, 11)}:${at(11, 13)}:${at(13, 16)}`)
    : Number.NaN;
  if (Number.isNaN(madeAt)) throw incomplete("Date must be in ISO-8601 'basic format', e.g. 20250603T040308Z.");
  return { date, madeAt };
}

/** A `Date` header in the form that is signed. */
function basicDate(header: string | undefined): string | undefined {
  const time = Date.parse(header ?? "");
  return Number.isNaN(time) ? header : basicDateOf(time);
}

function basicDateOf(time: number): string {
  return new Date(time).toISOString().replace(/[-:]|\.\d+/g, "");
}

function refuseForeignScope({ day, date, service, end }: Claim): void {
  if (service !== "sqs") throw wrong("Credential should be scoped to correct service: 'sqs'.");
  if (end !== "aws4_request") throw wrong("Credential should be scoped with a valid terminator: 'aws4_request'.");
  if (day !== date.slice(0, 8))
    throw wrong(
      `Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '${day}' != '${date.slice(0, 8)}'.`,
    );
}

/**
 * The date is always covered; the host must be, or the request could go elsewhere; so must be the header that names the
 * action.
 */
function refuseUnsigned(request: WireHead, { signedHeaders }: Claim): void {
  const needed = headerOf(request, "x-amz-target") === undefined ? ["host"] : ["host", "x-amz-target"];
  for (const name of needed) if (!signedHeaders.includes(name)) throw wrong(`'${name}' must be a signed header.`);
}

function refuseWrongTime({ date, madeAt, expiryMs }: Claim, now: number): void {
  if (madeAt <= now + windowMs && madeAt + expiryMs >= now) return;
  const at = basicDateOf(now);
  if (madeAt > now + windowMs)
    throw new SqsError(
      "RequestExpired",
      `Signature not yet current: ${date} is still later than ${basicDateOf(now + windowMs)} (${at} + 15 min.)`,
    );
  throw new SqsError(
    "RequestExpired",
    `Signature expired: ${date} is now earlier than ${basicDateOf(now - expiryMs)} (${at} - ${Math.round(expiryMs / 60_000)} min.)`,
  );
}

/**
 * The hash the signature was made over. Where the client names one, it must be that of the body. `UNSIGNED-PAYLOAD` is
 * good for requests without a body only: bodies say what is to be done, and whoever stands between client and server
 * could put another in. AWS allows for it with S3, over TLS; TLS ends before us, and no SQS client sends it.
 */
function payloadHashOf(request: WireRequest, { payload }: Claim): string {
  if (payload === unsignedPayload) {
    if (request.body.length > 0)
      throw wrong(`A request with a body must be signed over it: x-amz-content-sha256 cannot be ${unsignedPayload}.`);
    return payload;
  }
  const made = hash("sha256", request.body);
  if (payload !== undefined && payload !== made)
    throw wrong("The value of x-amz-content-sha256 is not the SHA-256 hash of the body.");
  return made;
}

function canonicalRequest(request: WireRequest, { signedHeaders }: Claim, query: string, payload: string): string {
  const headers = signedHeaders.map((name) => `${name}:${spaced(headerOf(request, name) ?? "")}\n`).join("");
  return [request.method, canonicalPath(targetOf(request).path), query, headers, signedHeaders.join(";"), payload].join(
    "\n",
  );
}

/** What stands between the spaces and tabs, which headers may have more of than they were signed with. */
function words(text: string): string[] {
  return text.split(/[ \t]+/).filter((word) => word !== "");
}

/** The words of a header with one space between them, as clients sign it. */
function spaced(text: string): string {
  return /^[ \t]|[ \t]{2}|\t|[ \t]$/.test(text) ? words(text).join(" ") : text;
}

/** As clients sign it: without empty segments, and escaped once more than it is sent. */
function canonicalPath(path: string): string {
  if (path === "/") return path;
  return path.replace(/\/+/g, "/").split("/").map(escape).join("/");
}

/**
 * As the rules have it, escaped anew with a plus as a space; and as it was sent, for botocore signs that. Both mean the
 * same to us.
 */
function canonicalQueries(search: string): string[] {
  if (search === "") return [search];
  const pairs = pairsOf(search);
  const anew = sortedPairs(pairs.map(([name, value]) => [escape(unescape(name)), escape(unescape(value))]));
  const asSent = sortedPairs(pairs);
  return anew === asSent ? [anew] : [anew, asSent];
}

function sortedPairs(pairs: readonly (readonly [string, string])[]): string {
  return pairs
    .toSorted(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : x > y ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

/** As RFC 3986 escapes: all but letters, digits and `-._~`. */
function escape(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function isSignedBy(claim: Claim, key: AccessKey, canonical: string): boolean {
  const text = [algorithm, claim.date, scopeText(claim), hash("sha256", canonical)].join("\n");
  const given = Buffer.from(claim.signature);
  const made = Buffer.from(createHmac("sha256", signingKeyOf(claim, key)).update(text).digest("hex"));
  return given.length === made.length && timingSafeEqual(given, made);
}

const scopeText = ({ day, region, service, end }: Claim): string => `${day}/${region}/${service}/${end}`;

/** Each is good for one day and region, and costs as much as all the rest: the latest are kept. */
const signingKeys = new WeakMap<AccessKey, Map<string, KeyObject>>();
const maxSigningKeys = 100;

function signingKeyOf(claim: Claim, key: AccessKey): KeyObject {
  let kept = signingKeys.get(key);
  if (!kept) signingKeys.set(key, (kept = new Map()));
  const scope = scopeText(claim);
  let made = kept.get(scope);
  if (!made) {
    const { day, region, service, end } = claim;
    const secret = [day, region, service, end].reduce<Buffer>(
      (before, part) => createHmac("sha256", before).update(part).digest(),
      Buffer.from(`AWS4${key.secretAccessKey}`),
    );
    made = createSecretKey(secret); // bytes would be made a key each time
    if (kept.size === maxSigningKeys) kept.clear();
    kept.set(scope, made);
  }
  return made;
}

/** The text tells what we read, so that one sees what a proxy changed: almost always the host. */
function mismatch(canonical: string): SqsError {
  return wrong(
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. " +
      `Consult the service documentation for details.\n\nThe Canonical String for this request should have been\n'${canonical}'\n`,
  );
}

function wrong(message: string): SqsError {
  return new SqsError("InvalidSignatureException", message);
}

function incomplete(message: string): SqsError {
  return new SqsError("IncompleteSignatureException", message);
}
