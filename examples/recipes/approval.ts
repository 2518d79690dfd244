// A person decides, and is reminded. Nothing is held while the job waits, for days if need be.
import { type Handler, type Millrace, defineJob } from "millrace";

export interface Mailer {
  send(to: string, text: string, key: string): Promise<void>;
}

interface Expense {
  readonly id: string;
  readonly boss: string;
}
interface Answer {
  readonly approved: boolean;
  readonly by: string;
}

export const expense = defineJob<Expense, Answer>("expense");

/** The fingerprint is how the answer will find the job. */
export const askForExpense = (mill: Millrace, input: Expense) =>
  mill.enqueue(expense, input, { fingerprint: `expense-${input.id}` });

/** Where the answer comes in, such as the route of a web hook. Sent twice with the same id, it counts once. */
export const answerExpense = (mill: Millrace, id: string, answer: Answer, requestId: string) =>
  mill.tell({ fingerprint: `expense-${id}` }, "answered", answer, { id: requestId });

export function decideExpense(mailer: Mailer): Handler<Expense, Answer> {
  return async ({ input }, { step }) => {
    await step.run("ask", ({ key }) => mailer.send(input.boss, `Please look at expense ${input.id}.`, key));
    for (let reminders = 0; reminders < 3; reminders += 1) {
      const answer = await step.waitFor<Answer>("answered", { timeout: "2d" });
      if (answer) return answer;
      await step.run("remind", ({ key }) => mailer.send(input.boss, `Expense ${input.id} still waits.`, key));
    }
    return (await step.waitFor<Answer>("answered", { timeout: "7d" })) ?? { approved: false, by: "nobody" };
  };
}
