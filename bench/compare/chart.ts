import { median } from "../engine/measure.ts";
import { readable } from "./report.ts";
import type { Measured } from "./results.ts";

const width = 760;
const left = 250;
const right = 110;
const bar = 22;
const gap = 6;
const colours: Readonly<Record<string, string>> = {
  millrace: "#1a7f5a",
  "graphile-worker": "#4a72b0",
  "pg-boss": "#8a63a8",
  "bullmq-postgres": "#c98a3a",
  pgmq: "#3f9aa8",
  bullmq: "#b5553c",
  bytea: "#8c8c8c",
};

/**
 * A bar per key, grouped by what is measured, as an SVG without anything to load. Thin lines show the spread over the
 * rounds.
 */
export function chart(title: string, subtitle: string, all: readonly Measured[]): string {
  const parts: string[] = [];
  let y = 58;
  for (const rows of Map.groupBy(all, ({ series }) => series.suffix).values()) {
    const [{ series }] = rows as [Measured, ...Measured[]];
    const most = Math.max(...rows.flatMap(({ values }) => values), Number.MIN_VALUE);
    const x = (value: number): number => Math.round(((width - left - right) * value * 10) / most) / 10;
    parts.push(text(16, y + 12, `${series.label} (${series.unit}, ${series.better} is better)`, "#555"));
    y += 22;
    for (const { key, system, values } of rows) {
      const middle = median(values);
      parts.push(text(left - 8, y + bar - 7, key, "#222", "end"));
      parts.push(
        `<rect x="${left}" y="${y}" width="${x(middle)}" height="${bar}" fill="${colours[system] ?? "#666"}"/>`,
      );
      if (values.length > 1) {
        const [low, high] = [left + x(Math.min(...values)), left + x(Math.max(...values))];
        parts.push(`<path d="M${low} ${y + bar / 2}H${high}" stroke="#222" stroke-width="1"/>`);
      }
      parts.push(text(left + x(Math.max(middle, ...values)) + 6, y + bar - 7, readable(middle), "#222"));
      y += bar + gap;
    }
    y += 12;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" viewBox="0 0 ${width} ${y}" font-family="system-ui, sans-serif" font-size="13">
<rect width="100%" height="100%" fill="#fff"/>
<text x="16" y="26" font-size="16" fill="#111">${escaped(title)}</text>
${text(16, 44, subtitle, "#777")}
${parts.join("\n")}
</svg>
`;
}

function text(x: number, y: number, content: string, fill: string, anchor = "start"): string {
  return `<text x="${x}" y="${y}" fill="${fill}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
