import type { JSX } from "preact";
import { Button } from "./parts/button.js";
import { isUtc, setUtc, zoneName } from "./zone.js";

/** Which zone times are told in; a click changes it. */
export function ZoneSwitch(): JSX.Element {
  const other = isUtc.value ? "this browser's zone" : "UTC";
  return (
    <Button
      kind="quiet"
      small
      label={`Times are in ${zoneName.value}; show them in ${other}`}
      title={`Times are in ${zoneName.value}; show them in ${other}`}
      onClick={() => setUtc(!isUtc.value)}
    >
      {zoneName.value}
    </Button>
  );
}
