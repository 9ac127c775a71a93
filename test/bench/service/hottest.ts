// Reads a CPU profile: time of a thread by our own functions and by kind of everything else.
import { readFileSync } from "node:fs"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { projectRoot } from "../../import-graph.ts"

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface CallFrame {
  readonly functionName: string
  readonly url: string
  /** Counted from 0. */
  readonly lineNumber: number
}

export interface ThreadTime {
  /** Sampled microseconds, idle time included. */
  readonly total: number
  /**
   * Microseconds by kind, without the profiler's own: `ours`, `node`, packages by name, `(garbage collector)`, `(program)`,
   * `(idle)`.
   */
  readonly kinds: ReadonlyMap<string, number>
  /** Self time of our own functions, hottest first. */
  readonly ours: readonly SelfTime[]
  /** Self time of Node's functions. */
  readonly node: readonly SelfTime[]
}

interface SelfTime {
  readonly at: string
  readonly us: number
}

export function readProfile(file: string): ThreadTime {
  const profile = JSON.parse(readFileSync(file, "utf8")) as Profile
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const kinds = new Map<string, number>()
  const [ours, node] = [new Map<string, number>(), new Map<string, number>()]
  let total = 0
  for (const [index, sample] of profile.samples.entries()) {
    const us = profile.timeDeltas[index] ?? 0
    const frame = frames.get(sample)
    if (!frame || frame.url === "node:inspector") continue
    total += us
    const kind = kindOf(frame)
    add(kinds, kind, us)
    if (kind === "ours")
      add(ours, `${frame.functionName || "(anonymous)"} ${relative(projectRoot, fileURLToPath(frame.url))}:${frame.lineNumber + 1}`, us)
    if (kind === "node") add(node, `${frame.functionName} ${frame.url}`.trim(), us)
  }
  return { total, kinds: new Map([...kinds].sort(([, a], [, b]) => b - a)), ours: hottest(ours), node: hottest(node) }
}

function kindOf({ url, functionName }: CallFrame): string {
  if (url === "") return functionName.startsWith("(") ? functionName : "node"
  if (!url.startsWith("file:")) return "node"
  const [, inPackage] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? []
  return inPackage ?? (fileURLToPath(url).startsWith(projectRoot) ? "ours" : "node")
}

function hottest(sums: ReadonlyMap<string, number>): SelfTime[] {
  return [...sums].map(([at, us]) => ({ at, us })).sort((a, b) => b.us - a.us)
}

function add(sums: Map<string, number>, name: string, us: number): void {
  sums.set(name, (sums.get(name) ?? 0) + us)
}
