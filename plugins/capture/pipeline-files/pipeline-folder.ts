// Sorts the files of a folder into pipelines and tests. The service at start, the watcher and the commands share these rules.
import { readdirSync } from "node:fs"
import { join } from "node:path"

/** Content of a file in a pipelines folder. */
export type FileKind = "pipeline" | "test"

/** Returns true for paths of test files. */
export function isTestFile(path: string): boolean {
  return /\.test\.(ya?ml|json)$/.test(path)
}

/** Returns the paths of pipelines or tests directly in a folder. */
export function filesOfKind(folder: string, kind: FileKind): string[] {
  return readdirSync(folder)
    .filter((name) => kindOf(name) === kind)
    .map((name) => join(folder, name))
}

export interface IgnoredFile {
  readonly path: string
  readonly why: string
}

/** Returns ignored files that may be meant as pipelines: files in subfolders, and files with misspelt extensions. */
export function ignoredFiles(folder: string): IgnoredFile[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.name.startsWith(".") || kindOf(entry.name) !== undefined) return []
    if (entry.isDirectory()) return holdsYaml(path) ? [{ path, why: "subfolders are not searched" }] : []
    return /\.(ya?ml|json)$/i.test(entry.name) ? [{ path, why: "the extension must be .yaml, .yml or .json, in lower case" }] : []
  })
}

/** Ignores JSON files: in a subfolder they are usually payloads of tests. */
function holdsYaml(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => !name.startsWith(".") && /\.ya?ml$/i.test(name))
  } catch {
    // An unreadable subfolder is ignored like any other.
    return false
  }
}

/** Names with a leading dot are not documents: an editor's lock (`.#x.yaml`), metadata of macOS (`._x.yaml`). */
function kindOf(name: string): FileKind | undefined {
  if (name.startsWith(".") || !/\.(ya?ml|json)$/.test(name)) return undefined
  return isTestFile(name) ? "test" : "pipeline"
}
