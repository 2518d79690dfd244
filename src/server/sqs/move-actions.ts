import type { ActionHandlers } from "./context.js";
import { arnOf, nameOfArn } from "./names.js";
import type { SqsService } from "./service.js";
import { SqsError, invalidParameter } from "./wire/errors.js";

const maxTasks = 10;
const maxPerSecond = 500;

/** Actions that move dead letters. `onStart`: there is something to do. */
export function moveActions(
  service: SqsService,
  onStart: () => void,
): Pick<ActionHandlers, "CancelMessageMoveTask" | "ListMessageMoveTasks" | "StartMessageMoveTask"> {
  const { sqs } = service.engine;
  return {
    async StartMessageMoveTask({
      SourceArn: source,
      DestinationArn: destination,
      MaxNumberOfMessagesPerSecond: perSecond,
    }) {
      const from = await queueOfArn("SourceArn", source);
      if ((await sqs.queueList("", "", 1, from)).length === 0)
        throw invalidParameter("Source queue must be configured as a Dead Letter Queue.");
      const to = destination === undefined ? undefined : await queueOfArn("DestinationArn", destination);
      if (to === from)
        throw invalidParameter(
          `Value ${destination} for parameter DestinationArn is invalid. Reason: It is the source itself.`,
        );
      if (perSecond !== undefined && (perSecond < 1 || perSecond > maxPerSecond)) {
        throw invalidParameter(
          `Value ${perSecond} for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a value between 1 and ${maxPerSecond}.`,
        );
      }
      const id = await sqs.moveStart(from, to, perSecond);
      if (id === null)
        throw invalidParameter(
          "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
        );
      onStart();
      return { TaskHandle: handleOf(id, source) };
    },

    async ListMessageMoveTasks({ SourceArn: source, MaxResults: most = 1 }, context) {
      const from = await queueOfArn("SourceArn", source);
      if (most < 1 || most > maxTasks) {
        throw invalidParameter(
          `Value ${most} for parameter MaxResults is invalid. Reason: The MaxResults value must be between 1 and ${maxTasks}.`,
        );
      }
      const tasks = await sqs.moveList(from, most);
      return {
        Results: tasks.map((task) => ({
          ApproximateNumberOfMessagesMoved: task.moved,
          ApproximateNumberOfMessagesToMove: task.toMove,
          DestinationArn: task.destination === null ? undefined : arnOf(task.destination, context),
          FailureReason: task.failure ?? undefined,
          MaxNumberOfMessagesPerSecond: task.perSecond ?? undefined,
          SourceArn: source,
          StartedTimestamp: task.startedAt,
          Status: task.status,
          TaskHandle: task.status === "RUNNING" ? handleOf(task.id, source) : undefined,
        })),
      };
    },

    async CancelMessageMoveTask({ TaskHandle: handle }) {
      const { taskId, sourceArn } = readHandle(handle);
      await queueOfArn("SourceArn", sourceArn);
      const moved = await sqs.moveCancel(taskId);
      if (moved === null) throw new SqsError("ResourceNotFoundException", "Task does not exist.");
      if (moved < 0) throw invalidParameter("Only active tasks can be cancelled.");
      onStart();
      return { ApproximateNumberOfMessagesMoved: moved };
    },
  };

  async function queueOfArn(parameter: string, arn: string): Promise<string> {
    const name = nameOfArn(arn);
    if (name === undefined || !(await service.findQueue(name))) {
      throw new SqsError(
        "ResourceNotFoundException",
        `The resource that you specified for the ${parameter} parameter doesn't exist.`,
      );
    }
    return name;
  }
}

const handleOf = (taskId: string, sourceArn: string): string =>
  Buffer.from(JSON.stringify({ taskId, sourceArn })).toString("base64");

function readHandle(handle: string): { readonly taskId: string; readonly sourceArn: string } {
  try {
    const { taskId, sourceArn } = JSON.parse(Buffer.from(handle, "base64").toString()) as {
      taskId?: unknown;
      sourceArn?: unknown;
    };
    if (
      typeof taskId === "string" &&
      /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(taskId) &&
      typeof sourceArn === "string"
    )
      return { taskId, sourceArn };
  } catch {
    // falls through
  }
  throw invalidParameter("Value for parameter TaskHandle is invalid.");
}
