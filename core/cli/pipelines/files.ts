// Which files a command line means: those named, those in the folders named, or those of the configured folders.
import { existsSync, readdirSync, statSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { frameworkRoot } from "../../house/plugins.ts"
import { BootError } from "../../kernel/config.ts"

export type FileKind = "pipeline" | "test"

const endings: Record<FileKind, (name: string) => boolean> = {
  pipeline: (name) => /\.(ya?ml|json)$/.test(name) && !/\.test\.(ya?ml|json)$/.test(name),
  test: (name) => /\.test\.(ya?ml|json)$/.test(name),
}

export interface WantedFiles {
  /** As given on the command line; none: the configured folders. */
  readonly given: readonly string[]
  readonly configured: readonly string[]
  readonly kind: FileKind
}

/** Absolute paths, sorted, each once. Throws BootError naming what does not exist. */
export function findFiles({ given, configured, kind }: WantedFiles): string[] {
  const missing: string[] = []
  const found = (given.length > 0 ? given : configured.map(folderOf)).flatMap((path) => {
    const file = resolve(path)
    if (!existsSync(file)) {
      if (given.length > 0) missing.push(`There is no file or folder ${path}.`)
      return []
    }
    if (!statSync(file).isDirectory()) return [kind === "test" ? testOf(file) : file]
    return readdirSync(file)
      .filter(endings[kind])
      .map((name) => join(file, name))
  })
  if (missing.length > 0) throw new BootError(missing)
  return [...new Set(found)].sort()
}

/** The user's folder, else the one that ships with the framework. */
export function folderOf(path: string): string {
  const own = resolve(path)
  return existsSync(own) ? own : resolve(frameworkRoot, path)
}

/** The test beside a pipeline, when a pipeline is named where tests are wanted. */
function testOf(file: string): string {
  return endings.test(file) ? file : file.replace(/\.(ya?ml|json)$/, ".test.$1")
}

/** As people name it: below the folder they are in where it is. */
export function shownPath(file: string): string {
  const path = relative(process.cwd(), file)
  return path.startsWith("..") ? file : path
}
