import type { Route } from "../route.js";
import { jobRoutes } from "./jobs.js";
import { liveRoutes } from "./live.js";
import { queueRoutes } from "./queues.js";
import { sessionRoutes } from "./session.js";

/** Every route of the API, in the order of the documentation. */
export const routes: readonly Route[] = [...sessionRoutes, ...liveRoutes, ...queueRoutes, ...jobRoutes];
