import { expect, it } from "vitest";
import { queueWord } from "./queue-word.js";

it("an active queue is told by whether anything of it can start, any other by its state", () => {
  const active = (ready: number, blocked: number, unhandled?: number) =>
    queueWord({ state: "active", ready, blocked }, unhandled);
  expect(active(0, 0)).toBe("active");
  expect(active(3, 0)).toBe("active");
  expect(active(3, 9)).toBe("active");
  expect(active(0, 9)).toBe("blocked");
  expect(active(3, 9, 2)).toBe("active");
  expect(active(3, 9, 3)).toBe("no worker");
  expect(active(0, 0, 2), "of a moment before").toBe("active");
  expect(queueWord({ state: "paused", ready: 0, blocked: 9 }, 9)).toBe("paused");
});
