import { describe, expect, it } from "vitest";
import { useMill } from "../support/mill.js";

const test = useMill();

describe("a report", () => {
  it("suspends many jobs of one claim, refuses what is not held, and counts each once [#194]", async () => {
    const { engine } = test.mill;
    const queue = await test.queue();
    await engine.enqueueMany("wait", [1, 2, 3, 4], { queue });
    const claimed = await engine.claim({ queues: [queue], limit: 4 });
    const [a, b, c, d] = [claimed[0]!, claimed[1]!, claimed[2]!, claimed[3]!];
    await engine.completeMany(d.token, [d.id]);
    const signals = [{ key: "go", signals: ["go"] }];
    const { refused } = await engine.settleAndClaim(
      [
        { ...held(a), waits: signals, steps: [{ key: "first", kind: "done", json: "1" }] },
        { ...held(b), waits: [{ key: "nap", seconds: 3600 }] },
        { ...held(b), waits: [{ key: "nap", seconds: 3600 }] },
        { ...held(d), waits: signals },
        { token: c.token, outcome: "succeeded", jobs: [c.id] },
      ],
      [],
    );
    expect(refused).toEqual([d.id]);
    expect(await engine.queueDepth(queue)).toMatchObject({ ready: 0, delayed: 2, running: 0 });
    const steps = await engine.stepsGet([a.id, b.id]);
    expect(steps.get(a.id)!.map(({ key, kind }) => [key, kind])).toEqual([["first", "done"]]);
    expect(steps.get(b.id)!.map(({ key, kind }) => [key, kind])).toEqual([["nap", "due"]]);

    await engine.tell(a.id, "go", 7);
    await engine.noticesDeliver();
    const again = await engine.claim({ queues: [queue], limit: 4 });
    expect(again.map(({ id, attempt }) => [id, attempt])).toEqual([[a.id, 1]]);
  });

  it("writes a step down once, however often it is sent at the same time [#183]", async () => {
    const { engine } = test.mill;
    const queue = await test.queue();
    await engine.enqueueMany("note", [1], { queue });
    const [job] = await engine.claim({ queues: [queue], limit: 1 });
    const runs = [{ token: job!.token, job: job!.id, steps: [{ key: "once", kind: "done" as const, json: "1" }] }];
    const answers = await Promise.all(Array.from({ length: 8 }, () => engine.stepsPut(runs)));
    expect(answers).toEqual(Array.from({ length: 8 }, () => []));
    expect((await engine.stepsGet([job!.id])).get(job!.id)).toHaveLength(1);
  });
});

const held = ({ id, token }: { readonly id: string; readonly token: string }) =>
  ({ token, outcome: "suspended", jobs: [id] }) as const;
