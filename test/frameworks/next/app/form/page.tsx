import { redirect } from "next/navigation";
import { mill, welcome } from "../../lib/queue";

async function order(form: FormData): Promise<void> {
  "use server";
  const { id } = await mill().enqueue(welcome, { email: String(form.get("email")) });
  redirect(`/form?id=${id}`);
}

export default async function Page({ searchParams }: { searchParams: Promise<{ id?: string }> }) {
  const { id } = await searchParams;
  return (
    <form action={order}>
      <input name="email" />
      <button>Order</button>
      {id && <output>{id}</output>}
    </form>
  );
}
