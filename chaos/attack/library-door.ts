import fc from "fast-check";
import { type Engine, type Millrace, MillraceError } from "millrace";
import {
  claimMembers,
  delay,
  error,
  jobMembers,
  libraryMembers,
  queueMembers,
  rule,
  scheduleMembers,
  typeMembers,
} from "./options.js";
import { type Attack, Fault, type Run } from "./run.js";
import { json, marks, mostly, name, number, some, text, time } from "./values.js";

type Anything = (...values: unknown[]) => Promise<unknown>;

const held = fc.constant({ id: "@id", token: "@token" });
const queue = mostly(marks.queue);
const type = mostly(marks.type);
/** What JavaScript has beyond JSON. */
const beyond: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 9, arbitrary: json },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      undefined,
      NaN,
      Infinity,
      10n,
      Symbol.iterator,
      new Date(NaN),
      new Map(),
      () => 1,
      new Uint8Array(3),
    ),
  },
);
const note = some({ by: text, because: text }, 2);

/** Methods of `mill` and of `mill.engine` by their names, with what their parameters may be. */
const verbs: Readonly<Record<string, readonly fc.Arbitrary<unknown>[]>> = {
  "mill.enqueue": [type, beyond, some(libraryMembers)],
  "mill.enqueueMany": [type, mostly(fc.array(beyond, { maxLength: 3 })), some(libraryMembers)],
  "mill.schedule": [fc.constant("@q2"), rule, type, beyond, some({ ...libraryMembers, ...scheduleMembers })],
  "mill.repeat": [fc.constant("@q2"), fc.oneof(fc.constantFrom("1s", "1h"), json), type, beyond, some(libraryMembers)],
  "engine.enqueue": [mostly(some({ ...jobMembers, type: marks.type, input: beyond }, 8), 20)],
  "engine.enqueueEach": [
    mostly(fc.array(some({ ...jobMembers, type: marks.type, input: beyond }, 8), { maxLength: 3 }), 20),
  ],
  "engine.queuePut": [queue, some(queueMembers, 4)],
  "engine.typePut": [type, some(typeMembers, 4)],
  "engine.groupPut": [queue, name, some({ weight: number, maxRunning: number, rate: queueMembers.rate })],
  "engine.resourcePut": [fc.constantFrom("@r0", "@r1"), some({ maxRunning: number, rate: queueMembers.rate })],
  "engine.claim": [some({ ...claimMembers, queues: fc.array(marks.queue, { maxLength: 3 }) })],
  "engine.claimExtend": [fc.array(mostly(fc.constant("@token")), { maxLength: 2 }), delay],
  "engine.start": [held],
  "engine.complete": [held, beyond],
  "engine.fail": [held, error],
  "engine.retryLater": [held, error, delay],
  "engine.release": [held, delay],
  "engine.deadLetter": [held, queue, error],
  "engine.setVisibility": [held, delay],
  "engine.progressPut": [held, beyond],
  "engine.settle": [
    fc.array(
      some(
        {
          token: fc.constant("@token"),
          outcome: fc.constantFrom("succeeded", "failed", "retryLater", "released"),
          jobs: fc.constant(["@id"]),
          results: fc.array(beyond, { maxLength: 2 }),
          error,
          delaySeconds: delay,
        },
        6,
      ),
      { maxLength: 2 },
    ),
  ],
  "engine.list": [
    some({
      queue: marks.queue,
      type: marks.type,
      tenant: name,
      state: fc.constantFrom("failed", "ready"),
      before: json,
      limit: number,
      since: time,
    }),
  ],
  "engine.count": [some({ queue: marks.queue, type: marks.type, tenant: name, group: name })],
  "engine.failures": [some({ queue: marks.queue, type: marks.type, limit: number })],
  "engine.get": [mostly(fc.constant("@id"))],
  "engine.cancel": [mostly(fc.constant(["@id"])), text],
  "engine.queuePause": [queue, note],
  "engine.queueResume": [queue, note],
  "engine.payloadRead": [mostly(fc.constant("@id")), number, number],
};

/** A call of the library, by somebody whose compiler does not look. */
export const libraryAttack: fc.Arbitrary<Attack> = fc
  .constantFrom(...Object.keys(verbs))
  .chain((verb) => fc.tuple(...verbs[verb]!).map((values) => ({ door: "library" as const, verb, values })));

/** Call it. What is refused must be an error of ours. */
export async function callLibrary(run: Run, { verb, values }: Attack): Promise<void> {
  const [owner, method] = verb.split(".") as ["mill" | "engine", keyof Millrace & keyof Engine];
  const on = run.target[owner];
  try {
    await (on[method] as Anything).apply(
      on,
      (values as unknown[]).map((value) => run.fill(value)),
    );
    run.count("library", "accepted");
  } catch (cause) {
    if (!(cause instanceof MillraceError)) throw new Fault(`library ${verb}`, cause);
    run.count("library", "refused");
  }
}
