// Finds the files of a command line: named files, files in named folders, or files in the configured folders.
import { existsSync, statSync } from "node:fs"
import { relative, resolve } from "node:path"
import { CommandProblem } from "#core"
import { frameworkRoot, printError, type Reading, readGiven, type Terminal } from "#core/commands"
import { BootError, notUtf8, utf8Text } from "#core/engine"
import { type FileKind, filesOfKind, ignoredFiles, isTestFile } from "../pipeline-folder.ts"

export interface WantedFiles {
  /** Arguments of the command line. Empty: the configured folders. */
  readonly given: readonly string[]
  readonly configured: readonly string[]
  readonly kind: FileKind
}

/** Returns absolute paths, sorted and without duplicates. Throws BootError or CommandProblem with the names of missing files. */
export function findFiles({ given, configured, kind }: WantedFiles): string[] {
  const missing: string[] = []
  const found = lookedAt({ given, configured, kind }).flatMap((path) => {
    const file = resolve(path)
    if (!existsSync(file)) {
      if (given.length > 0) missing.push(`The file or folder ${path} does not exist.`)
      return []
    }
    return statSync(file).isDirectory() ? filesOfKind(file, kind) : oneFile(file, kind)
  })
  if (missing.length > 0) throw new BootError(missing)
  if (found.length === 0 && given.length > 0 && given.every(isTestFile)) {
    throw new CommandProblem("Only test files are given: `millrace pipelines test` runs them. Give pipeline files, or none for all.", 2)
  }
  if (found.length === 0 && given.length > 0 && kind === "pipeline")
    throw new CommandProblem(`No pipeline files are in ${given.join(", ")}.`, 2)
  return [...new Set(found)].sort()
}

/** Prints ignored files of the folders on standard error, with the reason. */
export function tellPassedOver(wanted: WantedFiles, terminal: Terminal): void {
  const folders = lookedAt(wanted).filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory())
  for (const { path, why } of folders.flatMap((folder) => ignoredFiles(resolve(folder))))
    printError(terminal, `Not taken: ${shownPath(path)} (${why}).`)
}

function lookedAt({ given, configured, kind }: WantedFiles): readonly string[] {
  if (given.length > 0) return given
  return kind === "test" ? configured.map(folderOf) : ownFolders(configured)
}

/** A shell's `pipelines/*.yaml` also matches the test files. */
function oneFile(file: string, kind: FileKind): string[] {
  if (kind === "test") return [testOf(file)]
  return isTestFile(file) ? [] : [file]
}

/** Returns the user's folders. The shipped documents are not the user's, so commands do not check or apply them. */
function ownFolders(configured: readonly string[]): readonly string[] {
  const missing = configured.filter((path) => !existsSync(resolve(path)))
  if (configured.length > 0 && missing.length === 0) return configured
  const which = missing.length > 0 ? `The folder ${missing.join(" or ")} does not exist here.` : "No folder of pipelines is configured."
  throw new CommandProblem(
    `${which} Give files, go to the project's folder, create the folder, or set pipelines.paths in config/millrace.yaml.`,
    2,
  )
}

/** Throws CommandProblem with exit code 2 if the file cannot be read. Other exit codes are results of pipelines. */
export function readBytes(file: string, reading?: Pick<Reading, "orInput">): Buffer {
  return readGiven(file, { ...reading, shown: shownPath(file), exitCode: 2 })
}

/** Throws CommandProblem if the file cannot be read or is not UTF-8. */
export function readText(file: string, reading?: Pick<Reading, "orInput">): string {
  const text = utf8Text(readBytes(file, reading))
  if (text === undefined) throw new CommandProblem(`${shownPath(file)} cannot be read. ${notUtf8}`, 2)
  return text
}

/** Returns the user's folder, or the folder shipped with the framework. */
export function folderOf(path: string): string {
  const own = resolve(path)
  return existsSync(own) ? own : resolve(frameworkRoot, path)
}

/** Returns the test file next to a pipeline file. Test files are returned unchanged. */
function testOf(file: string): string {
  return isTestFile(file) ? file : file.replace(/\.(ya?ml|json)$/, ".test.$1")
}

/** Returns the path relative to the current folder, or the whole path if the file is outside. */
export function shownPath(file: string): string {
  const path = relative(process.cwd(), file)
  return path === "" || path.startsWith("..") ? file : path
}
