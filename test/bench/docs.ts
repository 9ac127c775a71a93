// The figures that the project keeps: docs/performance.json, from which the tables of docs/performance.md are made. Rows
// that are measured again replace what was there; those of another machine go.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { projectRoot } from "../import-graph.ts"
import { type Machine, machineText } from "./machine.ts"
import { cellsOf, headings, type Row } from "./table.ts"

export interface Figures {
  readonly measured_at: string
  readonly machine: Machine
  readonly rows: readonly Row[]
  /** What `--profile` printed. */
  readonly profile: readonly string[]
}

const figuresFile = join(projectRoot, "docs/performance.json")
export const pageFile = join(projectRoot, "docs/performance.md")
/** What a machine is known by; a flush takes another time at every run. */
const identity = ["processor", "cores", "memory_gb", "system", "node", "file_system"] as const

export function writeFigures(machine: Machine, measured: { rows?: readonly Row[]; profile?: readonly string[] }): void {
  const before = readFigures()
  const kept = before && identity.every((field) => before.machine[field] === machine[field]) ? before : undefined
  const rows = new Map([...(kept?.rows ?? []), ...(measured.rows ?? [])].map((row) => [row.name, row]))
  const figures: Figures = {
    measured_at: new Date().toISOString().slice(0, 10),
    machine,
    rows: [...rows.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true })),
    profile: measured.profile ?? kept?.profile ?? [],
  }
  writeFileSync(figuresFile, `${JSON.stringify(figures, null, 2)}\n`)
  writeFileSync(pageFile, withFigures(readFileSync(pageFile, "utf8"), figures))
}

/** undefined where nothing was measured yet. */
export function readFigures(): Figures | undefined {
  return existsSync(figuresFile) ? (JSON.parse(readFileSync(figuresFile, "utf8")) as Figures) : undefined
}

/** The page with what stands between `<!-- figures NAME -->` and `<!-- end -->` made again; NAME is the start of rows' names, `machine` or `profile`. */
export function withFigures(page: string, figures: Figures | undefined): string {
  return page.replaceAll(/(<!-- figures (\S+) -->\n)[\s\S]*?(<!-- end -->)/g, (_, start: string, name: string, end: string) => {
    return `${start}\n${blockOf(name, figures)}\n\n${end}`
  })
}

function blockOf(name: string, figures: Figures | undefined): string {
  if (name === "machine")
    return figures ? `Measured on ${figures.measured_at}: ${machineText(figures.machine)}.` : "Nothing was measured yet."
  if (name === "profile") {
    return figures && figures.profile.length > 0 ? ["```text", ...figures.profile, "```"].join("\n") : "Not measured on this machine yet."
  }
  const rows = (figures?.rows ?? []).filter((row) => row.name.startsWith(name))
  if (rows.length === 0) return "Not measured on this machine yet."
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
  return [line(headings), line(headings.map(() => "---")), ...rows.map((row) => line(cellsOf(row)))].join("\n")
}
