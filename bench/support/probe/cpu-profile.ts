/** Sums a processor profile by function and by package. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** Less than a few samples says nothing. */
const leastMs = 2;

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Milliseconds of one function or package. */
export interface Share {
  readonly name: string;
  readonly ms: number;
}

/** The sums of a profile, each list in falling order. */
export interface ProfileSums {
  /** All but idle time and the profiler's own. */
  readonly busyMs: number;
  readonly elapsedMs: number;
  readonly functions: readonly Share[];
  readonly packages: readonly Share[];
  /** Our own functions, with the time of what they call without a pause between. */
  readonly ownTotals: readonly Share[];
}

const idle = "(idle)";

/** Ending a profile takes time that the program does not have to answer for. */
const profiler = "node:inspector";

/** Reads and sums a file of the profiler. */
export async function readProfile(file: string): Promise<ProfileSums> {
  return sumProfile(JSON.parse(await readFile(file, "utf8")) as Profile);
}

function sumProfile({ nodes, samples, timeDeltas }: Profile): ProfileSums {
  const selfMs = new Map<number, number>();
  for (const [index, id] of samples.entries()) {
    selfMs.set(id, (selfMs.get(id) ?? 0) + (timeDeltas[index] ?? 0) / 1_000);
  }
  const functions = new Map<string, number>();
  const packages = new Map<string, number>();
  let elapsedMs = 0;
  let idleMs = 0;
  for (const node of nodes) {
    const ms = selfMs.get(node.id) ?? 0;
    elapsedMs += ms;
    if (node.callFrame.functionName === idle || packageOf(node) === profiler) idleMs += ms;
    else {
      add(functions, functionOf(node), ms);
      add(packages, packageOf(node), ms);
    }
  }
  return {
    busyMs: elapsedMs - idleMs,
    elapsedMs,
    functions: falling(functions),
    packages: falling(packages),
    ownTotals: falling(totalsOf(nodes, selfMs)),
  };
}

/** A function that calls itself counts once. */
function totalsOf(
  nodes: readonly ProfileNode[],
  selfMs: ReadonlyMap<number, number>,
): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const totals = new Map<string, number>();
  const visit = (node: ProfileNode, above: ReadonlySet<string>): number => {
    const name = functionOf(node);
    const isOwn = packageOf(node).startsWith("src/") && !above.has(name);
    const within = isOwn ? new Set([...above, name]) : above;
    let ms = selfMs.get(node.id) ?? 0;
    for (const child of node.children ?? []) {
      const next = byId.get(child);
      if (next !== undefined) ms += visit(next, within);
    }
    if (isOwn) add(totals, name, ms);
    return ms;
  };
  const [root] = nodes;
  if (root !== undefined) visit(root, new Set());
  return totals;
}

function add(sums: Map<string, number>, name: string, ms: number): void {
  sums.set(name, (sums.get(name) ?? 0) + ms);
}

function falling(sums: ReadonlyMap<string, number>): readonly Share[] {
  return [...sums]
    .map(([name, ms]) => ({ name, ms }))
    .filter(({ ms }) => ms >= leastMs)
    .toSorted((a, b) => b.ms - a.ms);
}

function functionOf({ callFrame }: ProfileNode): string {
  const { functionName, url, lineNumber } = callFrame;
  const place = placeOf(url);
  if (place === "") return functionName;
  return `${functionName || "(anonymous)"} ${place}:${lineNumber + 1}`;
}

/** The file, from the project's folder or from the package's name on. */
function placeOf(url: string): string {
  const path = url.startsWith("file:") ? fileURLToPath(url) : url;
  const within = path.lastIndexOf("/node_modules/");
  if (within !== -1) return path.slice(within + "/node_modules/".length);
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  return path.startsWith(root) ? path.slice(root.length) : path;
}

function packageOf({ callFrame }: ProfileNode): string {
  const { functionName, url } = callFrame;
  const place = placeOf(url);
  if (place === "") return functionName.startsWith("(") ? functionName : "(native)";
  if (place.startsWith("node:")) return place;
  const depth = /^(?:@|src\/|bench\/|packages\/)/.test(place) ? 2 : 1;
  return place.split("/").slice(0, depth).join("/");
}
