// A batch: many jobs, and one that runs when all of them have ended, whatever became of them.
import { type Handler, type Millrace, defineJob } from "millrace";

export interface Mailer {
  send(to: string, key: string): Promise<void>;
}

interface Mail {
  readonly campaign: string;
  readonly to: string;
}
interface Summary {
  readonly sent: number;
  readonly failed: number;
}

export const mail = defineJob<Mail, { to: string }>("campaign-mail", { maxAttempts: 3 });
export const campaignEnded = defineJob<{ campaign: string; mails: number }, Summary>("campaign-ended");

/** All of it is stored, or nothing: give `tx` to `enqueue`, and it commits with your rows. At most 1000 recipients. */
export async function startCampaign(mill: Millrace, campaign: string, recipients: readonly string[]) {
  const flow = mill.flow({ name: campaign });
  const mails = recipients.map((to) => flow.add(mail, { campaign, to }));
  flow.add(campaignEnded, { campaign, mails: mails.length }, { after: mails, when: "ended" });
  return flow.enqueue();
}

export function sendMail(mailer: Mailer): Handler<Mail, { to: string }> {
  return async ({ id, input }) => {
    await mailer.send(input.to, id);
    return { to: input.to };
  };
}

export const summarize: Handler<{ campaign: string; mails: number }, Summary> = async (job) => {
  const sent = (await job.parents(mail)).length; // the results of those that succeeded
  return { sent, failed: job.input.mails - sent };
};
