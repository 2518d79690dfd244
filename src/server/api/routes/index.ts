import { z } from "../../zod.js";
import { openApi } from "../openapi.js";
import { type Route, route } from "../route.js";
import { answerRoutes } from "./answers.js";
import { cellRoutes } from "./cells.js";
import { claimRoutes } from "./claims.js";
import { failureRoutes } from "./failures.js";
import { jobRoutes } from "./jobs.js";
import { limitRoutes } from "./limits.js";
import { liveRoutes } from "./live.js";
import { operationRoutes } from "./operations.js";
import { payloadRoutes } from "./payloads.js";
import { queueRoutes } from "./queues.js";
import { scheduleRoutes } from "./schedules.js";
import { sessionRoutes } from "./session.js";
import { stepRoutes } from "./steps.js";
import { flowRoutes } from "./flows.js";
import { workerRoutes } from "./workers.js";
import { alertRoutes } from "./alerts.js";

/** Every route of the API, in the order of the documentation. */
export const routes: readonly Route[] = [
  ...sessionRoutes,
  ...cellRoutes,
  ...liveRoutes,
  ...workerRoutes,
  ...alertRoutes,
  ...queueRoutes,
  ...jobRoutes,
  ...stepRoutes,
  ...answerRoutes,
  ...flowRoutes,
  ...payloadRoutes,
  ...claimRoutes,
  ...failureRoutes,
  ...scheduleRoutes,
  ...limitRoutes,
  ...operationRoutes,
  route({
    method: "GET",
    path: "/openapi.json",
    role: "reader",
    summary: "this API as an OpenAPI 3.1 document",
    answer: z.looseObject({ openapi: z.literal("3.1.0") }),
    handle: async ({ version }) => openApi(routes, version),
  }),
];
