import type { JSX } from "preact";

const width = 88;
const height = 22;

/** A line as small as a word. It always spans a minute, so that it grows from the right and never rescales sideways. */
export function Sparkline({
  values,
  label,
  tone = "accent",
}: {
  values: readonly number[];
  label: string;
  tone?: "accent" | "bad";
}): JSX.Element {
  const most = Math.max(1, ...values);
  const step = width / 59;
  const points = values.map(
    (value, index) => [width - (values.length - 1 - index) * step, height - 2 - (value / most) * (height - 4)] as const,
  );
  const line = points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const first = points[0]?.[0] ?? width;
  return (
    <svg
      class={`sparkline sparkline-${tone}`}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
    >
      <path d={`M0 ${height - 2}H${first.toFixed(1)}`} class="sparkline-none" />
      {points.length > 1 && (
        <path class="sparkline-area" d={`${line}L${width} ${height}L${first.toFixed(1)} ${height}Z`} />
      )}
      {points.length > 1 && <path d={line} />}
    </svg>
  );
}
