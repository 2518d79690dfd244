// An agent: a model and its tools take turns, within a budget. Each reply is paid for once, however often it crashes.
import { type Handler, PermanentError, defineJob } from "millrace";

interface ToolCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}
interface Reply {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly cents: number;
}
type Message = { readonly role: "user" | "model" | "tool"; readonly content: unknown };
export type Model = (messages: readonly Message[], signal: AbortSignal) => Promise<Reply>;
export type Tools = Readonly<Record<string, (input: unknown, key: string) => Promise<unknown>>>;

interface Task {
  readonly task: string;
  readonly budgetCents: number;
}
interface Outcome {
  readonly answer: string;
  readonly cents: number;
}

export const agent = defineJob<Task, Outcome>("agent", { attemptTimeout: "10m" });

export function runAgent(model: Model, tools: Tools): Handler<Task, Outcome> {
  return async ({ input }, { step }) => {
    const messages: Message[] = [{ role: "user", content: input.task }];
    for (let cents = 0; cents < input.budgetCents;) {
      const reply = await step.run("think", ({ signal }) => model(messages, signal), { maxAttempts: 5 });
      cents += reply.cents;
      if (reply.calls.length === 0) return { answer: reply.text, cents };
      messages.push({ role: "model", content: reply });
      const results = await Promise.all(
        reply.calls.map(
          ({ id, tool, input: asked }) =>
            step
              .run(
                `tool ${id}`, // steps that run at the same time have names of their own
                async ({ key }) => {
                  if (!tools[tool]) throw new PermanentError(`there is no tool "${tool}"`);
                  return tools[tool](asked, key);
                },
                { maxAttempts: 3 },
              )
              .catch((error: unknown) => `failed: ${String(error)}`), // the model may try something else
        ),
      );
      messages.push({ role: "tool", content: results });
    }
    throw new PermanentError("the budget is used up");
  };
}
