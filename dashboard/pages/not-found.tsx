import type { JSX } from "preact";
import { Empty } from "../parts/empty.js";
import { PageHead } from "../parts/panel.js";
import { to } from "../router.js";

export function NotFound(): JSX.Element {
  return (
    <>
      <PageHead title="There is no such page" />
      <Empty title="The address is wrong, or of another release">
        The <a href={to([])}>overview</a> is always there.
      </Empty>
    </>
  );
}
