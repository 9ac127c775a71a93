// The project's stored figures: docs/performance.json, the source of the tables in docs/performance.md. A new measurement
// replaces the old one, on any machine. With several machines, each table names its machine.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { projectRoot } from "../import-graph.ts"
import { type Machine, machineText } from "./machine.ts"
import { cellsOf, headings, type Row } from "./table.ts"

/** Measurements of one machine. */
export interface Figures {
  /** Day of the last measurement. */
  readonly measured_at: string
  readonly machine: Machine
  readonly rows: readonly Row[]
  /** Output of `--profile`. */
  readonly profile: readonly string[]
}

type Measured = Partial<Pick<Figures, "rows" | "profile">>

const figuresFile = join(projectRoot, "docs/performance.json")
export const pageFile = join(projectRoot, "docs/performance.md")
/** Fields that identify a machine. The flush time differs between runs. */
const identity = ["processor", "cores", "memory_gb", "system", "node", "file_system"] as const

export function writeFigures(machine: Machine, measured: Measured): void {
  const all = figuresWith(readFigures(), machine, measured, new Date().toISOString().slice(0, 10))
  writeFileSync(figuresFile, `${JSON.stringify(all, null, 2)}\n`)
  writeFileSync(pageFile, withFigures(readFileSync(pageFile, "utf8"), all))
}

/** Returns figures by machine, newest first. Each row belongs to one machine. */
export function figuresWith(before: readonly Figures[], machine: Machine, { rows = [], profile = [] }: Measured, day: string): Figures[] {
  const isHere = (figures: Figures) => identity.every((field) => figures.machine[field] === machine[field])
  const names = new Set(rows.map((row) => row.name))
  const earlier = before.map((figures) => ({
    ...figures,
    rows: figures.rows.filter((row) => !names.has(row.name)),
    profile: profile.length > 0 ? [] : figures.profile,
  }))
  const existing = earlier.find(isHere)
  const here: Figures = {
    measured_at: day,
    machine,
    rows: [...(existing?.rows ?? []), ...rows].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true })),
    profile: profile.length > 0 ? profile : (existing?.profile ?? []),
  }
  return [here, ...earlier.filter((entry) => entry !== existing && (entry.rows.length > 0 || entry.profile.length > 0))]
}

export function readFigures(): Figures[] {
  return existsSync(figuresFile) ? (JSON.parse(readFileSync(figuresFile, "utf8")) as Figures[]) : []
}

/**
 * Returns the page with new blocks between `<!-- figures NAME -->` and `<!-- end -->`. NAME is a prefix of row names, `machine`
 * or `profile`.
 */
export function withFigures(page: string, all: readonly Figures[]): string {
  return page.replaceAll(/(<!-- figures (\S+) -->\n)[\s\S]*?(<!-- end -->)/g, (_, start: string, name: string, end: string) => {
    return `${start}\n${blockOf(name, all)}\n\n${end}`
  })
}

function blockOf(name: string, all: readonly Figures[]): string {
  const letter = (at: number) => String.fromCharCode(65 + at)
  if (name === "machine") {
    const lines = all.map(
      ({ measured_at, machine }, at) => `- **${letter(at)}**, last measured on ${measured_at}: ${machineText(machine)}.`,
    )
    return lines.length > 0 ? lines.join("\n") : "Nothing was measured yet."
  }
  const parts = all.flatMap((figures, at) => {
    const lines = name === "profile" ? profileOf(figures) : tableOf(figures, name)
    const place = all.length > 1 ? [`On ${letter(at)}:`, ""] : []
    return lines.length > 0 ? [[...place, ...lines].join("\n")] : []
  })
  return parts.length > 0 ? parts.join("\n\n") : "Not measured yet."
}

function profileOf({ profile }: Figures): string[] {
  return profile.length > 0 ? ["```text", ...profile, "```"] : []
}

function tableOf({ rows }: Figures, start: string): string[] {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
  const matches = rows.filter((row) => row.name.startsWith(start))
  return matches.length > 0 ? [line(headings), line(headings.map(() => "---")), ...matches.map((row) => line(cellsOf(row)))] : []
}
