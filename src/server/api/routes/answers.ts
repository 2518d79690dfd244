import { checkCallbackToken } from "../../../db/encode.js";
import { TokenRefusedError } from "../../../db/errors.js";
import type { Answered } from "../../../db/types.js";
import { anyone } from "../../auth/roles.js";
import { route } from "../route.js";
import { done, jsonValue } from "../schemas.js";

export const answerRoutes = [
  route({
    method: "POST",
    path: "/answers/{token}",
    role: anyone,
    summary:
      "end the wait that a callback token was given out for: the body, JSON or the fields of a form, is the value its job gets. Needs no other token; counts once, until it expires",
    body: jsonValue,
    takesForms: true,
    answer: done,
    precheck: ({ token }) => void checkCallbackToken(token!),
    async handle({ mill, params, body, act, auth, exchange, deliver, waits }) {
      const answer = () =>
        act(
          ({ job, name }: Answered) => `job ${job} ${JSON.stringify(name)}`,
          (tx) => mill.engine.answer(params["token"]!, body, { tx }),
        );
      await waits(answer).catch((error: unknown) => {
        if (error instanceof TokenRefusedError && error.reason === "unknown") auth.noteWrong(exchange);
        throw error;
      });
      deliver();
      return { done: true };
    },
  }),
];
