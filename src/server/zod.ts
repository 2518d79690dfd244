// The one place that imports zod: `scripts/bundle-zod.mjs` puts what it needs of it into dist, so that nobody who
// installs Millrace installs zod (9 MB) for an HTTP server that most of them do not start.
export { z } from "zod";
