// `millrace pipelines validate`: compiles files without a service and tells everything that is wrong with them.
import { readFileSync } from "node:fs"
import { slugOf } from "../../contract/fields.ts"
import type { Finding } from "../../pipeline/findings.ts"
import { parseText } from "../../pipeline/parse.ts"
import { codeFrame } from "./code-frame.ts"
import type { LocalCompiler } from "./compiler.ts"
import { shownPath } from "./files.ts"

export interface PlacedFinding extends Finding {
  readonly line: number
  readonly column: number
  readonly frame: string
}

export interface CheckedFile {
  readonly path: string
  readonly ok: boolean
  readonly findings: readonly PlacedFinding[]
}

/** Each file with its findings in the order of their lines; two files of one slug are a finding of the second. */
export async function validateFiles(files: readonly string[], compiler: LocalCompiler): Promise<CheckedFile[]> {
  const slugs = new Map<string, string>()
  const checked: CheckedFile[] = []
  // A few at once: while the sandbox's child compiles one schema, the rest of another document is compiled here.
  for (let from = 0; from < files.length; from += atOnce) {
    const group = files.slice(from, from + atOnce).map((file) => ({ path: shownPath(file), text: readFileSync(file, "utf8") }))
    const compiled = await Promise.all(group.map(({ text }) => compiler.compile(text)))
    for (const [index, { path, text }] of group.entries()) {
      const { compilation, document } = compiled[index] ?? { compilation: { ok: false, findings: [] }, document: undefined }
      const taken = takenSlug(document, path, slugs)
      const extra = taken === undefined ? [] : [{ ...taken, ...parseText(text).locate(taken.pointer) }]
      const findings = [...compilation.findings, ...extra].map((finding) => placedIn(text, finding))
      checked.push({ path, ok: compilation.ok && extra.length === 0, findings })
    }
  }
  return checked
}

const atOnce = 8

export function placedIn(text: string, finding: Finding): PlacedFinding {
  const { line = 1, column = 1 } = finding
  return { ...finding, line, column, frame: codeFrame(text, { line, column }) }
}

function takenSlug(document: unknown, path: string, slugs: Map<string, string>): Finding | undefined {
  const { slug: given, name } = (document ?? {}) as { slug?: unknown; name?: unknown }
  const slug = typeof given === "string" ? given : typeof name === "string" ? slugOf(name) : ""
  if (slug === "") return undefined
  const other = slugs.get(slug)
  if (other === undefined) {
    slugs.set(slug, path)
    return undefined
  }
  const pointer = typeof given === "string" ? "/slug" : "/name"
  const message = `The slug "${slug}" is that of ${other} already; give one of them a "slug" of its own.`
  return { rule: "invalid-field", level: "error", message, pointer }
}
