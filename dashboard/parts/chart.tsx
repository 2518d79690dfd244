import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { age, count, distinct, duration, rate } from "../format.js";
import { isDark } from "../theme.js";
import { columnsOf } from "./chart-data.js";
import { Choice } from "./tabs.js";

interface Timed {
  /** Milliseconds. */
  readonly at: number;
}

export interface Series<P> {
  readonly title: string;
  /** A colour of styles/tokens.css. */
  readonly colour: string;
  readonly of: (point: P) => number | null;
}

interface ChartProps<P> {
  readonly title: string;
  readonly points: readonly P[];
  readonly series: readonly Series<P>[];
  readonly kind: keyof typeof kinds;
  readonly height?: number;
  /** So many seconds up to the newest point are on the axis, whether there are points or not. */
  readonly seconds: number;
}

/** How values are written, in the legend and on the axis, and which steps the axis takes. */
const kinds = {
  count: { format: count, tick: count, steps: undefined },
  rate: { format: rate, tick: rate, steps: undefined },
  duration: {
    format: duration,
    tick: age,
    steps: [
      0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600,
      7200, 21_600, 43_200, 86_400, 172_800, 864_000,
    ],
  },
} as const;

/** Lines over time. The canvas is for eyes; the caption says the same in words and is not read out by itself. */
export function Chart<P extends Timed>({
  title,
  points,
  series,
  kind,
  height = 170,
  seconds,
}: ChartProps<P>): JSX.Element {
  const { format, tick, steps } = kinds[kind];
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const span = useRef(seconds);
  span.current = seconds;
  const dark = isDark.value;

  useEffect(() => {
    const element = host.current!;
    const colour = (name: string) => colourOf(element, name);
    const axis = {
      stroke: colour("muted"),
      grid: { stroke: colour("line"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    plot.current = new uPlot(
      {
        width: element.clientWidth || 300,
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        padding: [8, 8, 0, 0],
        scales: {
          x: { range: (_plot, _from, to) => [(to ?? Date.now() / 1000) - span.current, to ?? Date.now() / 1000] },
          y: { range: (_plot, _from, to) => [0, Math.max(1e-3, to * 1.1 || 1)] },
        },
        axes: [
          {
            ...axis,
            size: 26,
            space: 70,
            values: (_plot, ticks) => ticks.map((value) => tickTime(value, span.current)),
          },
          {
            ...axis,
            size: 52,
            space: 30,
            values: (_plot, ticks) => distinct(ticks.map((value) => tick(value))),
            ...(steps && { incrs: [...steps] }),
          },
        ],
        series: [
          {},
          ...series.map(({ title, colour: name }, index) => ({
            label: title,
            stroke: colour(name),
            width: 1.5,
            points: { show: false },
            ...(index === 0 && { fill: colour(name).replace(/^rgb\((.*)\)$/, "rgba($1, 0.1)") }),
          })),
        ],
        hooks: { setCursor: [(self) => readOut(self, element, series, format)] },
      },
      [[], ...series.map(() => [])] as uPlot.AlignedData,
      element,
    );
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [dark, height, series.map(({ title }) => title).join("|")]);

  useEffect(() => {
    const columns = columnsOf(
      points,
      series.map(({ of }) => of),
    );
    plot.current?.setData(columns as uPlot.AlignedData);
  }, [points, seconds, dark]);

  const last = points.at(-1);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="chart-legend">
          {series.map(({ title, colour, of }) => (
            <span key={title} class="chart-key">
              <i style={{ background: `var(--${colour})` }} aria-hidden="true" />
              {title} <b data-series={title}>{format(last ? of(last) : null)}</b>
            </span>
          ))}
        </span>
        <span class="sr">{inWords(points, series, format)}</span>
      </figcaption>
      <div ref={host} class="chart-canvas" style={{ blockSize: `${height}px` }} aria-hidden="true" />
    </figure>
  );
}

/** A colour of the theme as the canvas understands it. */
function colourOf(element: HTMLElement, name: string): string {
  element.style.color = `var(--${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = "";
  return color;
}

/** Under the pointer the legend tells the values of that moment, otherwise those of now. */
function readOut<P>(
  plot: uPlot,
  element: HTMLElement,
  series: readonly Series<P>[],
  format: (value: number | null) => string,
): void {
  const index = plot.cursor.idx ?? plot.data[0].length - 1;
  const figure = element.closest("figure");
  series.forEach(({ title }, at) => {
    const value = plot.data[at + 1]?.[index] ?? null;
    const place = figure?.querySelector(`[data-series="${CSS.escape(title)}"]`);
    if (place?.firstChild) place.firstChild.nodeValue = format(value);
  });
}

function inWords<P>(
  points: readonly P[],
  series: readonly Series<P>[],
  format: (value: number | null) => string,
): string {
  if (points.length === 0) return "No values yet.";
  return series
    .map(({ title, of }) => {
      const values = points.map(of).filter((value) => value !== null);
      if (values.length === 0) return `${title}: no values.`;
      return `${title}: now ${format(of(points.at(-1)!))}, lowest ${format(Math.min(...values))}, highest ${format(Math.max(...values))}.`;
    })
    .join(" ");
}

function tickTime(seconds: number, span: number): string {
  const date = new Date(seconds * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  if (span > 172_800) return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return span <= 300 ? `${minutes}:${two(date.getSeconds())}` : minutes;
}

export type Span = "600" | "3600" | "86400" | "2592000";

/** How far back charts look. */
export function SpanChoice({
  value,
  onChange,
  isStored = false,
}: {
  value: Span;
  onChange: (value: Span) => void;
  /** Only what is stored, by the minute and by the hour. */
  isStored?: boolean;
}): JSX.Element {
  return (
    <Choice
      label="How far back"
      value={value}
      onChange={onChange}
      of={[
        ...(isStored ? [] : [{ value: "600" as const, title: "10 min" }]),
        { value: "3600", title: "1 h" },
        { value: "86400", title: "24 h" },
        { value: "2592000", title: "30 days" },
      ]}
    />
  );
}
