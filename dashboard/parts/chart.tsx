import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { now } from "../clock.js";
import { age, count, distinct, duration, moment, rate, tickTime, timeOfDay } from "../format.js";
import { connection } from "../live.js";
import { isDark } from "../theme.js";
import { zone } from "../zone.js";
import { columnsOf, gapOf } from "./chart-data.js";
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
  /** So many seconds up to now are on the axis, whether there are points or not: a gap at the end is seen. */
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
  const end = useEnd(points.at(-1)?.at, seconds);
  /** The moment under the pointer, in seconds. */
  const [under, setUnder] = useState<number | null>(null);
  const axisRef = useRef({ seconds, end });
  // Before the plot is made or drawn below.
  useEffect(() => {
    axisRef.current = { seconds, end };
  }, [seconds, end]);
  const dark = isDark.value;
  const place = zone.value;

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
        ...(place && { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), place) }),
        width: element.clientWidth || 300,
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        padding: [8, 8, 0, 0],
        scales: {
          x: { range: () => [axisRef.current.end / 1000 - axisRef.current.seconds, axisRef.current.end / 1000] },
          y: { range: (_plot, _from, to) => [0, Math.max(1e-3, to * 1.1 || 1)] },
        },
        axes: [
          {
            ...axis,
            size: 26,
            space: 70,
            values: (_plot, ticks) => ticks.map((value) => tickTime(value * 1000, axisRef.current.seconds)),
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
        hooks: { setCursor: [({ cursor: { idx }, data }) => setUnder(typeof idx === "number" ? data[0][idx]! : null)] },
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
  }, [dark, place, height, series.map(({ title }) => title).join("|")]);

  useEffect(() => {
    const columns = columnsOf(
      points,
      series.map(({ of }) => of),
    );
    plot.current?.setData(columns as uPlot.AlignedData);
  }, [points, seconds, end, dark, place]);

  const last = points.at(-1);
  // Under the pointer the legend tells the values of that moment and its time, otherwise those of now.
  const isOver = last !== undefined && end - last.at > gapOf(points, stepMsOf(seconds));
  const told = under !== null ? points.find(({ at }) => at === under * 1000) : isOver ? undefined : last;
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="chart-legend">
          {series.map(({ title, colour, of }) => (
            <span key={title} class="chart-key">
              <i style={{ background: `var(--${colour})` }} aria-hidden="true" />
              {title} <b>{format(told ? of(told) : null)}</b>
            </span>
          ))}
        </span>
        <span class="chart-at">
          {under !== null
            ? (seconds > 86_400 ? moment : timeOfDay)(under * 1000)
            : isOver && `nothing since ${moment(last.at)}`}
        </span>
        <span class="sr">{inWords(points, series, format, isOver)}</span>
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

/** How far points are apart: of the last ten minutes by the second, of a day by the minute, else by the hour. */
const stepMsOf = (seconds: number): number => (seconds <= 600 ? 1000 : seconds <= 86_400 ? 60_000 : 3_600_000);

/**
 * Where the axis ends, in milliseconds: now, also when nothing was measured for long. It moves when a pixel or so has
 * passed; while the tab is hidden it stays with the newest point.
 */
function useEnd(newest: number | undefined, seconds: number): number {
  const step = Math.max(1000, (seconds * 1000) / 600);
  const present = useMemo(
    () => computed(() => (connection.value === "paused" ? 0 : Math.ceil(now.value / step) * step)),
    [step],
  );
  return Math.max(newest ?? 0, present.value) || now.value;
}

function inWords<P>(
  points: readonly P[],
  series: readonly Series<P>[],
  format: (value: number | null) => string,
  isOver: boolean,
): string {
  if (points.length === 0) return "No values yet.";
  return series
    .map(({ title, of }) => {
      const values = points.map(of).filter((value) => value !== null);
      if (values.length === 0) return `${title}: no values.`;
      return `${title}: ${isOver ? "at the end" : "now"} ${format(of(points.at(-1)!))}, lowest ${format(Math.min(...values))}, highest ${format(Math.max(...values))}.`;
    })
    .join(" ");
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
