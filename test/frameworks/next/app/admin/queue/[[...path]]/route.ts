import { admin } from "../../../../lib/queue";

export const dynamic = "force-dynamic";

const answer = (request: Request): Promise<Response> => admin().fetch(request);
export { answer as DELETE, answer as GET, answer as HEAD, answer as POST, answer as PUT };
