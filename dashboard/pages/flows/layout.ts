/**
 * Where the nodes of a graph stand: in layers, from what begins to what ends, with few crossings and short lines. A
 * line over several layers has a place in each of them, so that it goes round nodes instead of through them.
 */

export interface LayoutNode {
  readonly key: string;
  readonly layer: number;
  readonly after: readonly string[];
}

/** Sizes in pixels; `down`: layers stand below each other, else beside each other. */
export interface LayoutSizes {
  readonly width: number;
  readonly height: number;
  readonly down: boolean;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** The upper left corner of each node. */
  readonly places: ReadonlyMap<string, { readonly x: number; readonly y: number }>;
  readonly lines: readonly { readonly from: string; readonly to: string; readonly path: string }[];
}

/** A node, or the place of a line in a layer that it crosses. */
interface Item {
  readonly layer: number;
  readonly isNode: boolean;
  readonly before: Item[];
  readonly behind: Item[];
  /** Its middle, across the layers. */
  at: number;
}

const gapAcross = 16;
/** What a line takes of a layer that it crosses. */
const lineAcross = 6;
const gapAlong = { beside: 56, down: 40 } as const;
/** Places for lines; beyond them long lines go straight. */
const maxPlaces = 20_000;
const rounds = 8;

export function layout(nodes: readonly LayoutNode[], { width, height, down }: LayoutSizes): Layout {
  const { items, lines, layers } = itemsOf(nodes);
  untangle(layers);
  const across = down ? width : height;
  straighten(layers, across);
  const along = down ? height : width;
  const step = along + (down ? gapAlong.down : gapAlong.beside);
  const pointOf = (a: number, b: number): { x: number; y: number } => (down ? { x: b, y: a } : { x: a, y: b });
  const text = (a: number, b: number): string => {
    const { x, y } = pointOf(Math.round(a), Math.round(b));
    return `${x} ${y}`;
  };
  const curve = (from: Item, to: Item): string => {
    const [a, b] = [from.layer * step + along, to.layer * step];
    const bend = Math.min(step, b - a) / 2;
    return `C${text(a + bend, from.at)} ${text(b - bend, to.at)} ${text(b, to.at)}`;
  };
  const paths = lines.map(({ from, to, through }) => {
    const stops = [items.get(from)!, ...through, items.get(to)!];
    const parts = stops.slice(1).map((stop, n) => {
      const isLast = n === stops.length - 2;
      return curve(stops[n]!, stop) + (isLast ? "" : `L${text(stop.layer * step + along, stop.at)}`);
    });
    return { from, to, path: `M${text(stops[0]!.layer * step + along, stops[0]!.at)}${parts.join("")}` };
  });
  const breadth = Math.max(0, ...layers.flat().map(({ at, isNode }) => at + (isNode ? across : lineAcross) / 2));
  const total = pointOf(Math.max(0, layers.length * step - (step - along)), breadth);
  return {
    width: Math.ceil(total.x),
    height: Math.ceil(total.y),
    places: new Map([...items].map(([key, { layer, at }]) => [key, pointOf(layer * step, at - across / 2)])),
    lines: paths,
  };
}

interface Line {
  readonly from: string;
  readonly to: string;
  readonly through: readonly Item[];
}

function itemsOf(nodes: readonly LayoutNode[]): { items: Map<string, Item>; lines: Line[]; layers: Item[][] } {
  const layers: Item[][] = [];
  const add = (layer: number, isNode: boolean): Item => {
    const item: Item = { layer, isNode, before: [], behind: [], at: 0 };
    while (layers.length <= layer) layers.push([]);
    layers[layer]!.push(item);
    return item;
  };
  const link = (from: Item, to: Item): void => {
    from.behind.push(to);
    to.before.push(from);
  };
  const items = new Map(nodes.map(({ key, layer }) => [key, add(layer, true)]));
  const pairs = nodes.flatMap(({ key, after }) => after.map((from) => [from, key] as const));
  const span = ([from, to]: readonly [string, string]): number => items.get(to)!.layer - items.get(from)!.layer - 1;
  const hasPlaces = pairs.reduce((sum, pair) => sum + span(pair), 0) <= maxPlaces;
  const lines = pairs.map(([from, to]) => {
    const [source, target] = [items.get(from)!, items.get(to)!];
    const through = Array.from({ length: hasPlaces ? span([from, to]) : 0 }, (_, n) =>
      add(source.layer + 1 + n, false),
    );
    const stops = [source, ...through, target];
    for (let n = 1; n < stops.length; n += 1) link(stops[n - 1]!, stops[n]!);
    return { from, to, through };
  });
  return { items, lines, layers };
}

/** Put each layer in the order of its neighbours' means, there and back, and keep the best that was seen. */
function untangle(layers: Item[][]): void {
  const number = (): void => layers.forEach((layer) => layer.forEach((item, place) => (item.at = place)));
  number();
  let best = layers.map((layer) => [...layer]);
  let fewest = crossings(layers);
  for (let round = 0; round < rounds && fewest > 0; round += 1) {
    const isForth = round % 2 === 0;
    for (const layer of isForth ? layers : layers.toReversed()) {
      const means = new Map(layer.map((item) => [item, mean(isForth ? item.before : item.behind) ?? item.at]));
      layer.sort((a, b) => means.get(a)! - means.get(b)! || a.at - b.at);
      layer.forEach((item, place) => (item.at = place));
    }
    const now = crossings(layers);
    if (now >= fewest) continue;
    fewest = now;
    best = layers.map((layer) => [...layer]);
  }
  layers.splice(0, layers.length, ...best);
  number();
}

/** How many pairs of lines cross: those that begin in one order, and end in the other. */
function crossings(layers: readonly (readonly Item[])[]): number {
  let all = 0;
  for (const layer of layers) {
    const ends = layer.flatMap(({ behind }) => behind.map(({ at }) => at).toSorted((a, b) => a - b));
    // Counted with a tree of sums over the places of the next layer.
    const size = Math.max(0, ...ends) + 1;
    const sums = new Int32Array(size + 1);
    ends.forEach((end, seen) => {
      let notAfter = 0;
      for (let i = end + 1; i > 0; i -= i & -i) notAfter += sums[i]!;
      all += seen - notAfter;
      for (let i = end + 1; i <= size; i += i & -i) sums[i]! += 1;
    });
  }
  return all;
}

/** Move what stands in a layer towards its neighbours, without changing the order or getting too near. */
function straighten(layers: readonly (readonly Item[])[], across: number): void {
  const room = (a: Item, b: Item): number =>
    ((a.isNode ? across + gapAcross : lineAcross) + (b.isNode ? across + gapAcross : lineAcross)) / 2;
  const place = (layer: readonly Item[], wish: (item: Item) => number): void => {
    const offsets = [0];
    for (let n = 1; n < layer.length; n += 1) offsets.push(offsets[n - 1]! + room(layer[n - 1]!, layer[n]!));
    const found = rising(layer.map((item, n) => wish(item) - offsets[n]!));
    layer.forEach((item, n) => (item.at = found[n]! + offsets[n]!));
  };
  for (const layer of layers) place(layer, () => 0);
  for (let round = 0; round < rounds; round += 1) {
    const isForth = round % 2 === 0;
    const isLast = round === rounds - 1;
    for (const layer of isForth ? layers : layers.toReversed())
      place(layer, (item) => {
        const around = isLast ? [...item.before, ...item.behind] : isForth ? item.before : item.behind;
        return mean(around) ?? item.at;
      });
  }
  const least = Math.min(...layers.flat().map(({ at, isNode }) => at - (isNode ? across : lineAcross) / 2));
  for (const item of layers.flat()) item.at -= least;
}

/** The rising numbers that are nearest to these: neighbours that fall become their mean, until none falls. */
function rising(wanted: readonly number[]): number[] {
  const blocks: { sum: number; count: number }[] = [];
  for (const value of wanted) {
    let block = { sum: value, count: 1 };
    for (let last = blocks.at(-1); last && last.sum / last.count > block.sum / block.count; last = blocks.at(-1)) {
      blocks.pop();
      block = { sum: block.sum + last.sum, count: block.count + last.count };
    }
    blocks.push(block);
  }
  return blocks.flatMap(({ sum, count }) => Array.from({ length: count }, () => sum / count));
}

function mean(items: readonly Item[]): number | undefined {
  return items.length === 0 ? undefined : items.reduce((sum, { at }) => sum + at, 0) / items.length;
}
