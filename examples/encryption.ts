// Inputs and results that the database holds encrypted: whoever reads its tables, a dump or the dashboard sees none of
// them. Workers and callers of mill.result have the key.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import pg from "pg";
import { type Codec, Millrace, defineJob } from "millrace";

const key = Buffer.from(process.env["INPUT_KEY"] ?? randomBytes(32).toString("hex"), "hex");

const encrypted: Codec = {
  write(value, kind) {
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(kind));
    const bytes = Buffer.concat([cipher.update(JSON.stringify(value), "utf8"), cipher.final()]);
    return { aes256gcm: Buffer.concat([iv, cipher.getAuthTag(), bytes]).toString("base64") };
  },
  read(value, kind) {
    const { aes256gcm } = value as { aes256gcm?: unknown };
    if (typeof aes256gcm !== "string") return value; // stored before, or by somebody without the key
    const all = Buffer.from(aes256gcm, "base64");
    const decipher = createDecipheriv("aes-256-gcm", key, all.subarray(0, 12)).setAAD(Buffer.from(kind));
    decipher.setAuthTag(all.subarray(12, 28));
    return JSON.parse(Buffer.concat([decipher.update(all.subarray(28)), decipher.final()]).toString("utf8"));
  },
};

const mill = new Millrace();
mill.use({ codec: encrypted });

const diagnose = defineJob<{ patient: string }, { finding: string }>("diagnose");
const worker = mill.worker().handle(diagnose, (job) => ({ finding: `${job.input.patient} is well` }));
await worker.start();

const job = await mill.enqueue(diagnose, { patient: "Ada" });
console.log(await mill.result(job, { timeout: "20s" }));

const client = new pg.Client(process.env["DATABASE_URL"]);
await client.connect();
const { rows } = await client.query("select input, result from millrace.jobs where id = $1", [job.id]);
console.log(
  JSON.stringify(rows[0]).includes("Ada") ? "readable" : "the database has neither",
  Object.keys(rows[0].input),
);
await client.end();
await mill.close();
