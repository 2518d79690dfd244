import { textOf } from "./characters.js";
import { SqsError, invalidParameter } from "./errors.js";
import { type FormNode, malformedForm, parseForm, valueOf } from "./form.js";
import { decodeJson, encodeJson, encodeJsonError, jsonType } from "./json.js";
import { maxBodyBytes, maxErrorCharacters, maxMessageBytes } from "./limits.js";
import { type Action, type ActionModel, type Input, type Members, type Output, actions, isAction } from "./model.js";
import { decodeQuery } from "./query.js";
import { encodeQueryJson, encodeQueryJsonError, queryJsonType } from "./query-json.js";
import { queueOfPath } from "./queue-url.js";
import { type WireHead, type WireRequest, headerOf, targetOf } from "./request.js";
import { type AccessKey, type Caller, type CheckedClaim, checkClaim, trustClaim, verifySignature } from "./sigv4.js";
import { encodeXml, encodeXmlError, xmlType } from "./xml.js";

/**
 * From a request to the call of an action, and from its outcome to an answer: all that is particular to a protocol ends
 * here. The protocol is told by the content type, never by the path; the path only names a queue where the request does
 * not.
 */

/** Who may ask: holders of these keys, or anyone at all. */
export type Access = { readonly keys: readonly AccessKey[] } | "open";

/** All who ask here, where it is not known or does not matter who: no token has a name with a space. */
export const anybody = "SQS clients";

/** What an answer needs to know of its request. */
export interface ReplyTo {
  readonly requestId: string;
  readonly form: "json" | "xml" | "query-json";
}

/** What is known of a call beside its input. */
export interface CallFacts extends Caller {
  readonly protocol: "json" | "query";
  readonly replyTo: ReplyTo;
  /** The queue the request path names; `QueueUrl` of the input is filled from it already. */
  readonly pathQueue?: string;
  /** The `X-Amzn-Trace-Id` header, to become the system attribute `AWSTraceHeader`. */
  readonly traceHeader?: string;
}

/** A request that may go on to its action. */
export type Call = { readonly [A in Action]: CallFacts & { readonly action: A; readonly input: Input<A> } }[Action];

/** An HTTP answer, complete but for its length. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Read a request: the call it makes, or the answer that refuses it. `claim` is what its head said of its signature. */
export function readRequest(
  request: WireRequest,
  access: Access,
  now = Date.now(),
  claim?: CheckedClaim,
): { readonly call: Call } | { readonly refusal: WireAnswer } {
  const replyTo = replyFormOf(request);
  try {
    return {
      call:
        replyTo.form === "json"
          ? readJson(request, replyTo, () => authenticate(request, access, now, claim))
          : readQuery(request, replyTo, access, () => authenticate(request, access, now, claim)),
    };
  } catch (error) {
    if (error instanceof SqsError) return { refusal: writeError(replyTo, error) };
    throw error;
  }
}

/**
 * Read what comes before the body: who sent it, as far as that can be told by then, or the answer that refuses it. What
 * has no body is left to `readRequest`. A body is memory, so whoever has no key of ours gets none.
 */
export function readHead(
  head: WireHead,
  access: Access,
  now = Date.now(),
): { readonly who: string; readonly claim?: CheckedClaim } | { readonly refusal: WireAnswer } {
  if (access === "open" || !hasBody(head)) return { who: anybody };
  const replyTo = replyFormOf(head);
  try {
    if (replyTo.form === "json") actionOf(head);
    const claim = checkClaim(head, access.keys, now);
    return { who: `key ${claim.key.accessKeyId}`, claim };
  } catch (error) {
    if (error instanceof SqsError) return { refusal: writeError(replyTo, error) };
    throw error;
  }
}

/** Refuse a request because of its body. */
export function refuse(head: WireHead, error: SqsError): WireAnswer {
  return writeError(replyFormOf(head), error);
}

/** Refuse a request whose body is longer than `maxBodyBytes`, unread. */
export function refuseBody(request: WireHead): WireAnswer {
  const bytes = headerOf(request, "content-length") ?? maxBodyBytes;
  const isBatch = headerOf(request, "x-amz-target")?.endsWith("Batch") ?? false;
  const error = isBatch
    ? new SqsError(
        "BatchRequestTooLong",
        `Batch requests cannot be longer than ${maxMessageBytes} bytes. You have sent ${bytes} bytes.`,
      )
    : invalidParameter(
        `One or more parameters are invalid. Reason: Message must be shorter than ${maxMessageBytes} bytes.`,
      );
  return writeError(replyFormOf(request), error);
}

/** Answer what an action gave. */
export function writeOutput<A extends Action>(
  { action, replyTo }: CallFacts & { readonly action: A },
  output: Output<A>,
): WireAnswer {
  const { form, requestId } = replyTo;
  const { output: members }: ActionModel = actions[action];
  if (form === "json") return answer(replyTo, 200, jsonType, encodeJson(output, members));
  if (form === "xml") return answer(replyTo, 200, xmlType, encodeXml(action, output, members, requestId));
  return answer(replyTo, 200, queryJsonType, encodeQueryJson(action, output, members, requestId));
}

/** Answer an error. One that is none of ours tells nothing of itself. */
export function writeError(replyTo: ReplyTo, thrown: unknown): WireAnswer {
  const error = thrown instanceof SqsError ? thrown.clipped(maxErrorCharacters) : new SqsError("InternalFailure");
  const { form, requestId } = replyTo;
  if (form === "json")
    return answer(replyTo, error.status, jsonType, encodeJsonError(error), { "x-amzn-query-error": error.queryError });
  // A request without any action is not one of this protocol, and AWS answers it in a form of its own.
  if (error.type === "UnknownOperationException")
    return answer(replyTo, error.status, xmlType, "<UnknownOperationException/>\n");
  if (form === "xml") return answer(replyTo, error.status, xmlType, encodeXmlError(error, requestId));
  return answer(replyTo, error.status, queryJsonType, encodeQueryJsonError(error, requestId));
}

function answer(
  { requestId }: ReplyTo,
  status: number,
  type: string,
  body: string,
  more: Readonly<Record<string, string>> = {},
): WireAnswer {
  return { status, headers: { "x-amzn-RequestId": requestId, "content-type": type, ...more }, body };
}

function readJson(request: WireRequest, replyTo: ReplyTo, callerOf: () => Caller): Call {
  return callOf(request, replyTo, actionOf(request), callerOf(), (members, queueUrl) =>
    decodeJson(request.body, members, queueUrl),
  );
}

/** The action that the headers of a JSON request name. */
function actionOf(head: WireHead): Action {
  const [service, action = ""] = (headerOf(head, "x-amz-target") ?? "").split(".", 2);
  if (head.method !== "POST" || service !== "AmazonSQS" || !isAction(action))
    throw new SqsError("UnknownOperationException");
  return action;
}

function hasBody(head: WireHead): boolean {
  return headerOf(head, "transfer-encoding") !== undefined || Number(headerOf(head, "content-length") ?? 0) !== 0;
}

function readQuery(request: WireRequest, replyTo: ReplyTo, access: Access, callerOf: () => Caller): Call {
  const form = formOf(request);
  const action = valueOf(form, "Action");
  if (action === undefined) throw new SqsError("UnknownOperationException");
  if (!isAction(action) || (isAboutAllQueues(action) && queueOfPath(request.path)))
    throw new SqsError("InvalidActionException", `The action ${action} is not valid for this endpoint.`);
  if (access === "open" && isForgeable(request, action)) {
    throw new SqsError(
      "AccessDeniedException",
      `Without keys, ${action} needs a POST or a signature, by any key: a web page can make a browser send such a GET.`,
    );
  }
  return callOf(request, replyTo, action, callerOf(), (members, queueUrl) => decodeQuery(form, members, queueUrl));
}

/** Actions that change nothing, whoever asks. */
const looks: ReadonlySet<Action> = new Set<Action>([
  "GetQueueAttributes",
  "GetQueueUrl",
  "ListDeadLetterSourceQueues",
  "ListMessageMoveTasks",
  "ListQueueTags",
  "ListQueues",
]);

/**
 * Where anyone at all may ask, whether a web page could have: the address of an image is enough for a GET, and old
 * browsers send it without a word of where it comes from. None sends this header of its own accord; a POST tells its
 * origin.
 */
function isForgeable(request: WireRequest, action: Action): boolean {
  return request.method === "GET" && !looks.has(action) && headerOf(request, "authorization") === undefined;
}

/** The parameters of the query string, and of a form that was posted. */
function formOf(request: WireRequest): FormNode {
  const { search } = targetOf(request);
  if (request.method !== "GET" && request.method !== "POST") return parseForm();
  if (request.method === "GET" || mediaTypeOf(request) !== "application/x-www-form-urlencoded")
    return parseForm(search);
  const body = textOf(request.body);
  if (body === undefined) throw malformedForm();
  return parseForm(search, body);
}

/** Two actions make no sense at the address of one queue; JSON clients may have that as their endpoint, and are let. */
function isAboutAllQueues(action: Action): boolean {
  return action === "ListQueues" || action === "CreateQueue";
}

function authenticate(request: WireRequest, access: Access, now: number, claim?: CheckedClaim): Caller {
  return access === "open" ? trustClaim(request) : verifySignature(request, access.keys, now, claim);
}

type Decode = (members: Members, queueUrl: string | undefined) => Record<string, unknown>;

function callOf(request: WireRequest, replyTo: ReplyTo, action: Action, caller: Caller, decode: Decode): Call {
  const queue = queueOfPath(request.path);
  const traceHeader = headerOf(request, "x-amzn-trace-id");
  return {
    ...caller,
    protocol: replyTo.form === "json" ? "json" : "query",
    replyTo,
    ...(queue ? { pathQueue: queue.name } : {}),
    ...(traceHeader === undefined ? {} : { traceHeader }),
    action,
    input: decode(actions[action].input, queue && `/${queue.account}/${queue.name}`),
  } as Call;
}

function replyFormOf(request: WireHead): ReplyTo {
  const requestId = request.id;
  if (/^application\/x-amz-json-1\.[01]$/.test(mediaTypeOf(request))) return { requestId, form: "json" };
  return { requestId, form: headerOf(request, "accept")?.includes("application/json") ? "query-json" : "xml" };
}

/** The content type without its parameters. */
function mediaTypeOf(request: Pick<WireRequest, "headers">): string {
  return (headerOf(request, "content-type") ?? "").split(";", 1)[0]!.trim().toLowerCase();
}
