// Approval by a link in a mail. Whoever has the link may answer, once, and may do nothing else.
import { type Handler, type Millrace, TokenRefusedError, defineJob } from "millrace";

export interface Mailer {
  send(to: string, text: string, key: string): Promise<void>;
}

interface Leave {
  readonly person: string;
  readonly boss: string;
}
interface Decision {
  readonly approved: boolean;
}

export const leave = defineJob<Leave, Decision>("leave");

export function decideLeave(mailer: Mailer, site: string): Handler<Leave, Decision> {
  return async ({ input }, { step }) => {
    const token = await step.token("decided", { expires: "5d" });
    await step.run("ask", ({ key }) =>
      mailer.send(input.boss, `May ${input.person} go? ${site}/leave?token=${token}`, key),
    );
    return (await step.waitFor<Decision>("decided", { timeout: "5d" })) ?? { approved: false };
  };
}

/**
 * What the button of your page at that link sends, by POST. Not what the link itself does: programs that look at mails
 * open links before people do.
 */
export async function answerLeave(mill: Millrace, token: string, approved: boolean): Promise<string> {
  try {
    await mill.answer(token, { approved });
    return "Thank you.";
  } catch (error) {
    if (!(error instanceof TokenRefusedError)) throw error;
    return error.reason === "unknown" ? "This link is not complete." : `Too late: ${error.message}.`;
  }
}
