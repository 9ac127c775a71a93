// Reads documents of apps from folders: those that ship, then a user's own. What is wrong is told at start, of all files
// at once, each with its line, field and what to do.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { notUtf8, parseText, schemaProblems, utf8Text } from "#core/engine"
import { AppDocument } from "./document.ts"

const shipped = fileURLToPath(new URL("./documents", import.meta.url))
/** By text: services of one process read the same documents. */
const valid = new Map<string, AppDocument>()

/** The documents that ship, and those in `folders`, relative to the project. Throws with every problem, one a line. */
export function readAppDocuments(folders: readonly string[], project = process.cwd()): AppDocument[] {
  const files = [shipped, ...folders.map((folder) => resolve(project, folder))].flatMap(filesIn)
  const problems: string[] = []
  const bySlug = new Map<string, { file: string; document: AppDocument }>()
  for (const path of files) {
    const file = relative(project, path)
    const document = readOne(path, file, problems)
    if (!document) continue
    const earlier = bySlug.get(document.slug)
    if (earlier) {
      problems.push(`${file}: slug: "${document.slug}" is the slug of ${earlier.file} too; give this app another one.`)
    } else bySlug.set(document.slug, { file, document })
  }
  if (problems.length > 0) throw new Error(problems.join("\n"))
  return [...bySlug.values()].map(({ document }) => document)
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => !name.startsWith(".") && /\.(ya?ml|json)$/.test(name))
    .sort()
    .map((name) => join(folder, name))
}

function readOne(path: string, file: string, problems: string[]): AppDocument | undefined {
  const text = utf8Text(readFileSync(path))
  if (text === undefined) {
    problems.push(`${file}: ${notUtf8}`)
    return undefined
  }
  const appDocument = valid.get(text)
  if (appDocument) return appDocument
  const { value, findings, locate } = parseText(text)
  const broken = findings.filter(({ level }) => level === "error")
  if (broken.length > 0) {
    problems.push(...broken.map(({ line, column, message }) => `${file}:${line ?? 1}:${column ?? 1}: ${message}`))
    return undefined
  }
  const parsed = AppDocument.safeParse(value)
  if (parsed.success) {
    valid.set(text, parsed.data)
    return parsed.data
  }
  for (const { pointer, message } of schemaProblems({ schema: AppDocument, value, issues: parsed.error.issues }, "")) {
    const { line, column } = locate(pointer) ?? { line: 1, column: 1 }
    problems.push(`${file}:${line}:${column}: ${pointer.slice(1).replaceAll("/", ".") || "(document)"}: ${message}`)
  }
  return undefined
}
