// Which files of a folder are pipelines and which are their tests: the same to the service at its start, while developing,
// and to the commands.
import { readdirSync } from "node:fs"
import { join } from "node:path"

export type FileKind = "pipeline" | "test"

/** Whether a path names the tests of a pipeline. */
export function isTestFile(path: string): boolean {
  return /\.test\.(ya?ml|json)$/.test(path)
}

/** Paths of the pipelines, or of the tests, directly in a folder. */
export function filesIn(folder: string, kind: FileKind): string[] {
  return readdirSync(folder)
    .filter((name) => kindOf(name) === kind)
    .map((name) => join(folder, name))
}

/** A name with a dot at its beginning is no document: an editor's lock (`.#x.yaml`), what a Mac keeps beside a file (`._x.yaml`). */
function kindOf(name: string): FileKind | undefined {
  if (name.startsWith(".") || !/\.(ya?ml|json)$/.test(name)) return undefined
  return isTestFile(name) ? "test" : "pipeline"
}
