// Reads app documents from folders: shipped documents first, then those of a user. Problems of all files are reported together at
// start, each with line, field and remedy.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { notUtf8, parseText, schemaProblems, utf8Text } from "#core/engine"
import { AppDocument } from "./document.ts"

const shipped = fileURLToPath(new URL("./documents", import.meta.url))
/** Cached by text: services of a process read the same documents. */
const valid = new Map<string, AppDocument>()

/** Returns the shipped documents and those in `folders`, relative to the project. Throws with all problems, one per line. */
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
