import { mill, welcome } from "../../lib/queue";

export async function POST(request: Request): Promise<Response> {
  const { email } = (await request.json()) as { email: string };
  const { id } = await mill().enqueue(welcome, { email });
  return Response.json({ id }, { status: 202 });
}
