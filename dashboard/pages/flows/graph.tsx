import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, percent } from "../../format.js";
import { toneOf } from "../../parts/badge.js";
import { Button } from "../../parts/button.js";
import { StateMark } from "../../parts/state-mark.js";
import { to } from "../../router.js";
import type { FlowNode } from "./fold.js";
import { type Layout, layout } from "./layout.js";
import { statesOf, whenOf } from "./states.js";

const size = { width: 196, height: 54 } as const;
const zooms = [0.1, 0.15, 0.25, 0.4, 0.55, 0.7, 0.85, 1, 1.25, 1.6] as const;
/** At first nothing is drawn smaller: one scrolls instead. */
const legible = 0.7;

/** A flow as a graph: nodes in layers, lines between them. A node of one job leads to it, others choose their jobs. */
export function Graph({
  nodes,
  chosen,
  onChoose,
}: {
  nodes: readonly FlowNode[];
  chosen: string | null;
  onChoose: (key: string | null) => void;
}): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const room = useRoom(frame);
  const shape = nodes.map(({ key, after }) => `${key}:${after.join()}`).join(";");
  const fitOf = ({ width, height }: Layout): number =>
    Math.min(1, room.width / (width + 2 * margin), room.height / (height + 2 * margin));
  const ways = useMemo(() => [false, true].map((down) => layout(nodes, { ...size, down })), [shape]);
  // Beside each other is how we read; below each other is for what would be much smaller else.
  const isDown = fitOf(ways[1]!) > 1.25 * fitOf(ways[0]!);
  const drawn = ways[isDown ? 1 : 0]!;
  const fit = fitOf(drawn);
  const [asked, setAsked] = useState<number | null>(null);
  const fitsWidth = Math.min(1, room.width / (drawn.width + 2 * margin));
  const zoom = asked ?? (fit >= legible ? fit : Math.max(fitsWidth, legible));
  useLayoutEffect(() => {
    if (room.width > 0) toStart(frame.current!, drawn, isDown, zoom);
  }, [drawn]);
  const change = (isLarger: boolean): void => {
    const next = isLarger ? zooms.find((one) => one > zoom + 0.001) : zooms.findLast((one) => one < zoom - 0.001);
    if (next !== undefined) setAsked(next);
  };
  useWheel(frame, change);
  return (
    <div class="graph">
      <div class="graph-frame" ref={frame} onPointerDown={pan}>
        {room.width > 0 && (
          <div
            class="graph-space"
            style={{
              inlineSize: `${(drawn.width + 2 * margin) * zoom}px`,
              blockSize: `${(drawn.height + 2 * margin) * zoom}px`,
            }}
          >
            <Plane nodes={nodes} drawn={drawn} zoom={zoom} chosen={chosen} onChoose={onChoose} change={change} />
          </div>
        )}
      </div>
      <div class="graph-tools" role="group" aria-label="Size of the graph">
        <Button small label="Smaller" disabled={zoom <= zooms[0]} onClick={() => change(false)}>
          −
        </Button>
        <span class="muted">{percent(zoom)}</span>
        <Button small label="Larger" disabled={zoom >= zooms.at(-1)!} onClick={() => change(true)}>
          +
        </Button>
        <Button small disabled={zoom === fit} onClick={() => setAsked(fit)}>
          All of it
        </Button>
      </div>
    </div>
  );
}

/** Around the nodes, for their outlines. */
const margin = 12;

/** The nodes and lines. One node is reached with Tab, the others from there with the arrow keys. */
function Plane({
  nodes,
  drawn,
  zoom,
  chosen,
  onChoose,
  change,
}: {
  nodes: readonly FlowNode[];
  drawn: Layout;
  zoom: number;
  chosen: string | null;
  onChoose: (key: string | null) => void;
  change: (isLarger: boolean) => void;
}): JSX.Element {
  const [near, setNear] = useState<string | null>(null);
  const [stop, setStop] = useState<string | undefined>();
  const places = drawn.places;
  const list = useRef<HTMLOListElement>(null);
  const first = places.has(stop ?? "") ? stop : nodes[0]?.key;
  const names = useMemo(() => new Map(nodes.map((node) => [node.key, titleOf(node)])), [nodes]);
  const behind = useMemo(() => {
    const found = new Map<string, string[]>();
    for (const { key, after } of nodes) for (const other of after) found.set(other, [...(found.get(other) ?? []), key]);
    return found;
  }, [nodes]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "-") change(event.key === "+");
    else if (event.key === "Escape") onChoose(null);
    else {
      const key = neighbour(places, first!, event.key);
      if (key === undefined) return;
      list.current!.querySelector<HTMLElement>(`[data-key="${key}"]`)!.focus();
    }
    event.preventDefault();
  };
  const lit = near ?? chosen;
  return (
    <div
      class={lit === null ? "graph-plane" : "graph-plane graph-lit"}
      style={{ inlineSize: `${drawn.width}px`, blockSize: `${drawn.height}px`, transform: `scale(${zoom})` }}
    >
      <svg width={drawn.width} height={drawn.height} aria-hidden="true">
        {drawn.lines.map(({ from, to: end, path }) => (
          <path key={`${from} ${end}`} d={path} class={lit === from || lit === end ? "graph-near" : undefined} />
        ))}
      </svg>
      <ol ref={list} aria-label="Jobs of the flow; arrow keys go along the graph">
        {nodes.map((node) => {
          const { x, y } = places.get(node.key)!;
          return (
            <li
              key={node.key}
              style={{ insetInlineStart: `${x}px`, insetBlockStart: `${y}px`, inlineSize: `${size.width}px` }}
              onPointerEnter={() => setNear(node.key)}
              onPointerLeave={() => setNear(null)}
              onFocusCapture={() => (setNear(node.key), setStop(node.key))}
              onBlurCapture={() => setNear(null)}
            >
              <NodeBox
                node={node}
                isStop={node.key === first}
                isChosen={node.key === chosen}
                around={aroundOf(node, behind.get(node.key) ?? [], names)}
                onChoose={onChoose}
                onKeyDown={onKeyDown}
              />
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function NodeBox({
  node,
  isStop,
  isChosen,
  around,
  onChoose,
  onKeyDown,
}: {
  node: FlowNode;
  isStop: boolean;
  isChosen: boolean;
  around: string;
  onChoose: (key: string | null) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}): JSX.Element {
  const states = statesOf(node.jobs);
  const [worst] = states[0]!;
  const isOne = node.jobs.length === 1;
  const when = whenOf(node.jobs[0]!);
  const told = [
    isOne ? worst : states.map(([state, n]) => `${count(n)} ${state}`).join(", "),
    ...(node.isOutside ? ["not of this flow"] : []),
    ...(when === null ? [] : [when]),
  ].join(" · ");
  const inside = (
    <>
      <span class="graph-title">
        <StateMark state={worst} />
        <span class="graph-type">{node.type}</span>
        {!isOne && <b>× {count(node.jobs.length)}</b>}
      </span>
      <span class="graph-states">{told}</span>
      {!isOne && (
        <span class="graph-bar" aria-hidden="true">
          {states.map(([state, n]) => (
            <i key={state} class={toneOf(state)} style={{ flexGrow: n }} />
          ))}
        </span>
      )}
      <span class="sr">{around}</span>
    </>
  );
  const shared = {
    class: `graph-node ${toneOf(worst)}${isOne ? "" : " graph-many"}${node.isOutside ? " graph-outside" : ""}`,
    title: `${node.type} in ${node.queue}: ${told}`,
    tabIndex: isStop ? 0 : -1,
    "data-key": node.key,
    draggable: false,
    onKeyDown,
  };
  return isOne ? (
    <a {...shared} href={to(["jobs", node.key])}>
      {inside}
    </a>
  ) : (
    <button type="button" {...shared} aria-pressed={isChosen} onClick={() => onChoose(isChosen ? null : node.key)}>
      {inside}
    </button>
  );
}

const titleOf = ({ type, jobs }: FlowNode): string => (jobs.length === 1 ? type : `${type} × ${count(jobs.length)}`);

/** What stands before and behind a node, for those who do not see the lines. */
function aroundOf({ after }: FlowNode, behind: readonly string[], names: ReadonlyMap<string, string>): string {
  const list = (keys: readonly string[]): string =>
    keys
      .slice(0, 5)
      .map((key) => names.get(key))
      .join(", ") + (keys.length > 5 ? ` and ${keys.length - 5} more` : "");
  const before = after.length > 0 ? `, after ${list(after)}` : ", begins at once";
  return behind.length > 0 ? `${before}, before ${list(behind)}` : before;
}

const directions: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The nearest node that way. What is straight ahead is nearer than what is aside. */
function neighbour(places: Layout["places"], from: string, key: string): string | undefined {
  if (key === "Home") return places.keys().next().value;
  if (key === "End") return [...places.keys()].at(-1);
  const way = directions[key];
  if (!way) return undefined;
  const here = places.get(from)!;
  let best: readonly [key: string, distance: number] | undefined;
  for (const [other, { x, y }] of places) {
    const [ahead, aside] = way[0] === 0 ? [(y - here.y) * way[1], x - here.x] : [(x - here.x) * way[0], y - here.y];
    const distance = ahead + 2 * Math.abs(aside);
    if (ahead > 1 && (!best || distance < best[1])) best = [other, distance];
  }
  return best?.[0];
}

/** Where it begins is seen at first, and not the corner of the graph, which may be empty. */
function toStart(frame: HTMLElement, { places }: Layout, isDown: boolean, zoom: number): void {
  const along = isDown ? "y" : "x";
  const first = [...places.values()].filter((place) => place[along] === 0);
  const middle = first.reduce((sum, { x, y }) => sum + (isDown ? x : y), 0) / first.length;
  if (isDown) frame.scrollLeft = (middle + size.width / 2 + margin) * zoom - frame.clientWidth / 2;
  else frame.scrollTop = (middle + size.height / 2 + margin) * zoom - frame.clientHeight / 2;
}

/** How much room there is: as wide as the page lets it be, and up to two thirds of the window high. */
function useRoom(frame: { readonly current: HTMLElement | null }): { width: number; height: number } {
  const [room, setRoom] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const measure = (): void => {
      const width = frame.current!.clientWidth;
      const height = Math.floor(innerHeight * 0.66) - 2; // its border
      setRoom((before) => (before.width === width && before.height === height ? before : { width, height }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);
  return room;
}

/** The wheel zooms with Ctrl, as it does on maps. */
function useWheel(frame: { readonly current: HTMLElement | null }, change: (isLarger: boolean) => void): void {
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => {
    const turn = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      latest.current(event.deltaY < 0);
    };
    const element = frame.current!;
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, []);
}

/** A mouse drags the ground; fingers scroll by themselves. */
function pan(event: JSX.TargetedPointerEvent<HTMLDivElement>): void {
  const frame = event.currentTarget;
  if (event.pointerType !== "mouse" || event.button !== 0 || (event.target as Element).closest("li")) return;
  frame.setPointerCapture(event.pointerId);
  const move = ({ movementX, movementY }: PointerEvent): void => frame.scrollBy(-movementX, -movementY);
  frame.addEventListener("pointermove", move);
  frame.addEventListener("lostpointercapture", () => frame.removeEventListener("pointermove", move), { once: true });
}
