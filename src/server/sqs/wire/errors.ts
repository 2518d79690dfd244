import { clip } from "../../http/clip.js";
import type { FailedEntry } from "./model.js";

/** What is known of an error type beside its message. `code` is the name Query uses where it is another one. */
interface ErrorModel {
  readonly status: number;
  readonly code?: string;
  /** Said when the one who throws it says nothing. */
  readonly message?: string;
  /** Raised before the service itself is asked: JSON knows these only by their type, under another namespace. */
  readonly isCommon?: true;
}

const service = "AWS.SimpleQueueService";

/** Every error by its JSON name. The fault is the sender's below 500 and the receiver's from there on. */
const errors = {
  BatchEntryIdsNotDistinct: { status: 400, code: `${service}.BatchEntryIdsNotDistinct` },
  BatchRequestTooLong: { status: 400, code: `${service}.BatchRequestTooLong` },
  EmptyBatchRequest: { status: 400, code: `${service}.EmptyBatchRequest` },
  InvalidAddress: { status: 404 },
  InvalidAttributeName: { status: 400 },
  InvalidAttributeValue: { status: 400 },
  InvalidBatchEntryId: {
    status: 400,
    code: `${service}.InvalidBatchEntryId`,
    message:
      "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
  },
  InvalidIdFormat: { status: 400 },
  InvalidMessageContents: { status: 400 },
  InvalidSecurity: { status: 403 },
  KmsAccessDenied: { status: 400, code: "KMS.AccessDeniedException" },
  KmsDisabled: { status: 400, code: "KMS.DisabledException" },
  KmsInvalidKeyUsage: { status: 400, code: "KMS.InvalidKeyUsageException" },
  KmsInvalidState: { status: 400, code: "KMS.InvalidStateException" },
  KmsNotFound: { status: 400, code: "KMS.NotFoundException" },
  KmsOptInRequired: { status: 403, code: "KMS.OptInRequired" },
  KmsThrottled: { status: 400, code: "KMS.ThrottlingException" },
  MessageNotInflight: { status: 400, code: `${service}.MessageNotInflight` },
  OverLimit: { status: 403 },
  PurgeQueueInProgress: { status: 403, code: `${service}.PurgeQueueInProgress` },
  QueueDeletedRecently: {
    status: 400,
    code: `${service}.QueueDeletedRecently`,
    message: "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
  },
  QueueDoesNotExist: {
    status: 400,
    code: `${service}.NonExistentQueue`,
    message: "The specified queue does not exist.",
  },
  QueueNameExists: { status: 400, code: "QueueAlreadyExists" },
  ReceiptHandleIsInvalid: { status: 404 },
  RequestThrottled: { status: 403 },
  ResourceNotFoundException: { status: 404 },
  TooManyEntriesInBatchRequest: { status: 400, code: `${service}.TooManyEntriesInBatchRequest` },
  UnsupportedOperation: { status: 400, code: `${service}.UnsupportedOperation` },

  // In no published model. The JSON name ends in Exception, the Query code does not.
  AccessDeniedException: { status: 403, code: "AccessDenied" },
  InvalidParameterValueException: { status: 400, code: "InvalidParameterValue" },
  MissingRequiredParameterException: { status: 400, code: "MissingParameter" },

  // What can not be read, or not be done at all.
  InvalidActionException: { status: 400, code: "InvalidAction", isCommon: true },
  MalformedQueryStringException: { status: 400, code: "MalformedQueryString", isCommon: true },
  SerializationException: { status: 400, code: "MalformedInput", isCommon: true },
  ThrottlingException: { status: 400, isCommon: true },
  UnknownOperationException: { status: 404, isCommon: true },
  InternalFailure: {
    status: 500,
    isCommon: true,
    message: "The request processing has failed because of an unknown error, exception or failure.",
  },
  ServiceUnavailable: {
    status: 503,
    isCommon: true,
    message: "The request has failed due to a temporary failure of the server.",
  },

  // Who asks, and how it is proved.
  IncompleteSignatureException: { status: 400, code: "IncompleteSignature", isCommon: true },
  InvalidSignatureException: { status: 403, code: "SignatureDoesNotMatch", isCommon: true },
  MissingAuthenticationTokenException: {
    status: 403,
    code: "MissingAuthenticationToken",
    isCommon: true,
    message: "The request must contain either a valid (registered) AWS access key ID or X.509 certificate.",
  },
  RequestExpired: { status: 400, isCommon: true },
  RequestTimeoutException: { status: 408, code: "RequestTimeout", isCommon: true },
  UnrecognizedClientException: {
    status: 403,
    code: "InvalidClientTokenId",
    isCommon: true,
    message: "The security token included in the request is invalid.",
  },
} as const satisfies Readonly<Record<string, ErrorModel>>;

/** The JSON name of an error. */
export type SqsErrorType = keyof typeof errors;

/** A refusal a client understands. Throw it from an action; wire writes it in the protocol of the request. */
export class SqsError extends Error {
  override readonly name = "SqsError";
  /** The name Query uses, and the code of a batch entry that failed. */
  readonly code: string;
  readonly status: number;
  readonly #isCommon: boolean;

  constructor(
    readonly type: SqsErrorType,
    message?: string,
  ) {
    const model: ErrorModel = errors[type];
    super(message ?? model.message ?? "");
    this.code = model.code ?? type;
    this.status = model.status;
    this.#isCommon = model.isCommon ?? false;
  }

  /** Whose fault it is, as both protocols name it. */
  get fault(): "Sender" | "Receiver" {
    return this.status < 500 ? "Sender" : "Receiver";
  }

  /**
   * Code and fault for clients of JSON that still think in Query codes. Their SDKs name unmodelled errors by this one.
   */
  get queryError(): string {
    return `${this.#isCommon ? this.type : this.code};${this.fault}`;
  }

  /** The type with its namespace, as JSON carries it. */
  get qualifiedType(): string {
    return `${this.#isCommon ? "com.amazon.coral.service" : "com.amazonaws.sqs"}#${this.type}`;
  }

  /** The one text that differs between the protocols. */
  get queryMessage(): string {
    return this.type === "QueueDoesNotExist" ? this.message.replace(/\.$/, " for this wsdl version.") : this.message;
  }

  /** The same with no more than so much of its message. */
  clipped(most: number): SqsError {
    return this.message.length <= most ? this : new SqsError(this.type, clip(this.message, most));
  }

  /** As the entry of a batch that failed alone. */
  entry(id: string): FailedEntry {
    return { Code: this.code, Id: id, Message: this.message, SenderFault: this.fault === "Sender" };
  }
}

/** A value outside of what a parameter allows. */
export function invalidParameter(message: string): SqsError {
  return new SqsError("InvalidParameterValueException", message);
}

/** A parameter that must be there and is not. */
export function missingParameter(name: string): SqsError {
  return new SqsError("MissingRequiredParameterException", `The request must contain the parameter ${name}.`);
}
