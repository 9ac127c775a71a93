// Which files of a folder are pipelines and which are their tests: the same to the service at its start, while developing,
// and to the commands.
import { readdirSync } from "node:fs"
import { join } from "node:path"

/** What a file in a folder of pipelines holds. */
export type FileKind = "pipeline" | "test"

/** Whether a path names the tests of a pipeline. */
export function isTestFile(path: string): boolean {
  return /\.test\.(ya?ml|json)$/.test(path)
}

/** Paths of the pipelines, or of the tests, directly in a folder. */
export function filesOfKind(folder: string, kind: FileKind): string[] {
  return readdirSync(folder)
    .filter((name) => kindOf(name) === kind)
    .map((name) => join(folder, name))
}

export interface IgnoredFile {
  readonly path: string
  readonly why: string
}

/** What may be meant for pipelines and is not taken: files in a folder below, endings that are spelt otherwise. */
export function ignoredFiles(folder: string): IgnoredFile[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.name.startsWith(".") || kindOf(entry.name) !== undefined) return []
    if (entry.isDirectory()) return holdsYaml(path) ? [{ path, why: "subfolders are not searched" }] : []
    return /\.(ya?ml|json)$/i.test(entry.name) ? [{ path, why: "the extension must be .yaml, .yml or .json, in lower case" }] : []
  })
}

/** JSON in a folder below is what tests send, as a rule. */
function holdsYaml(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => !name.startsWith(".") && /\.ya?ml$/i.test(name))
  } catch {
    // It is not to be looked into, and cannot be.
    return false
  }
}

/** A name with a dot at its beginning is not a document: an editor's lock (`.#x.yaml`), what a Mac keeps beside a file (`._x.yaml`). */
function kindOf(name: string): FileKind | undefined {
  if (name.startsWith(".") || !/\.(ya?ml|json)$/.test(name)) return undefined
  return isTestFile(name) ? "test" : "pipeline"
}
