import type { ActionHandlers } from "./context.js";
import { arnOf } from "./names.js";
import type { SqsService } from "./service.js";
import { SqsError, invalidParameter, missingParameter } from "./wire/errors.js";

const maxActions = 7;
const allowed = new Set([
  "*",
  "SendMessage",
  "ReceiveMessage",
  "DeleteMessage",
  "ChangeMessageVisibility",
  "GetQueueAttributes",
  "GetQueueUrl",
  "ListDeadLetterSourceQueues",
  "PurgeQueue",
]);

interface Policy {
  readonly Version: string;
  readonly Id: string;
  /** Whatever a client has put there. */
  readonly Statement: readonly unknown[];
}

/**
 * Actions that edit the policy of a queue. It is kept and given back; who may do what is decided by the keys of the
 * server.
 */
export function permissionActions(service: SqsService): Pick<ActionHandlers, "AddPermission" | "RemovePermission"> {
  return {
    async AddPermission({ Label: label, AWSAccountIds: accounts, Actions: actions, ...input }, context) {
      const { name, record } = await service.currentQueueOf(input, context);
      if (accounts.length === 0) throw missingParameter("AWSAccountId");
      if (actions.length === 0) throw missingParameter("ActionName");
      if (!/^[\w-]{1,80}$/.test(label))
        throw invalidLabel(
          label,
          "The label can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.",
        );
      if (actions.length > maxActions)
        throw new SqsError("OverLimit", `${actions.length} Actions were found, maximum allowed is ${maxActions}.`);
      for (const action of actions) {
        if (!allowed.has(action))
          throw invalidParameter(
            `Value SQS:${action} for parameter ActionName is invalid. Reason: Please refer to the appropriate WSDL for a list of valid actions.`,
          );
      }
      for (const account of accounts)
        if (!/^\d{12}$/.test(account))
          throw invalidParameter(`Value ${account} for parameter PrincipalId is invalid. Reason: Unable to verify.`);
      const arn = arnOf(name, context);
      const policy = readPolicy(record.attributes["Policy"]) ?? {
        Version: "2008-10-17",
        Id: `${arn}/SQSDefaultPolicy`,
        Statement: [],
      };
      if (policy.Statement.some((statement) => labelOf(statement) === label))
        throw invalidLabel(label, "Already exists.");
      const statement = {
        Sid: label,
        Effect: "Allow",
        Principal: { AWS: oneOrAll(accounts.map((account) => `arn:aws:iam::${account}:root`)) },
        Action: oneOrAll(actions.map((action) => `SQS:${action}`)),
        Resource: arn,
      };
      await save(name, JSON.stringify({ ...policy, Statement: [...policy.Statement, statement] }));
    },

    async RemovePermission({ Label: label, ...input }, context) {
      const { name, record } = await service.currentQueueOf(input, context);
      const policy = readPolicy(record.attributes["Policy"]);
      const rest = policy?.Statement.filter((statement) => labelOf(statement) !== label);
      if (!policy || rest!.length === policy.Statement.length) throw invalidLabel(label, "can't find label.");
      await save(name, rest!.length === 0 ? null : JSON.stringify({ ...policy, Statement: rest }));
    },
  };

  async function save(name: string, policy: string | null): Promise<void> {
    await service.engine.sqs.queueChange(name, { Policy: policy }, {}, {});
    service.forget(name);
  }
}

const invalidLabel = (label: string, reason: string) =>
  invalidParameter(`Value ${label} for parameter Label is invalid. Reason: ${reason}`);
const labelOf = (statement: unknown): unknown => (statement as { readonly Sid?: unknown } | null)?.Sid;
const oneOrAll = <T>(values: readonly T[]): T | readonly T[] => (values.length === 1 ? values[0]! : values);

function readPolicy(text: string | undefined): Policy | undefined {
  if (text === undefined) return undefined;
  const policy = JSON.parse(text) as Policy;
  return { ...policy, Statement: [policy.Statement ?? []].flat() }; // one alone need not be a list
}
