// The target project of a new plugin: the framework's repository, or a project with a dependency on Millrace.
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { frameworkIsSource, frameworkRoot } from "../../bootstrap/plugins.ts"
import { BootError } from "../../kernel/config.ts"

export interface Project {
  readonly folder: string
  /** True for the framework's repository: its plugins import `#core`, and its generated files are committed. */
  readonly isFramework: boolean
}

/** Throws BootError if the folder is not a project. */
export function projectAt(folder: string): Project {
  if (frameworkIsSource && folder === frameworkRoot) return { folder, isFramework: true }
  if (dependsOnMillrace(join(folder, "package.json"))) return { folder, isFramework: false }
  throw new BootError([
    `${folder} is not a Millrace project: its package.json must name millrace among its dependencies. \`millrace init DIR\` creates one.`,
  ])
}

function dependsOnMillrace(file: string): boolean {
  if (!existsSync(file)) return false
  try {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(file, "utf8")) as Record<string, object>
    return "millrace" in dependencies || "millrace" in devDependencies
  } catch (error) {
    throw new BootError([`${file} cannot be read: ${(error as Error).message}`])
  }
}

/** Rewrites a template's imports for the target project. */
export function importsOf({ isFramework }: Project, text: string): string {
  return isFramework ? text : text.replaceAll('"#core', '"millrace')
}

export interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly engines: Readonly<Record<string, string>>
  readonly allowScripts: Readonly<Record<string, boolean>>
}

/** The framework's own package.json. */
export function ownManifest(): Manifest {
  return JSON.parse(readFileSync(join(frameworkRoot, "package.json"), "utf8")) as Manifest
}

export interface TemplateFile {
  /** Relative to the template, with / as separator. */
  readonly path: string
  readonly text: string
}

/** Returns the files of a template by path. The caller chooses the target. */
export function templateFiles(template: string): TemplateFile[] {
  const folder = join(frameworkRoot, "templates", template)
  return globSync("**/*", { cwd: folder })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort()
    .map((path) => ({ path: path.replaceAll("\\", "/"), text: readFileSync(join(folder, path), "utf8") }))
}

/** Writes all files or none. Throws BootError if a file exists already. */
export function writeNew(folder: string, files: readonly TemplateFile[]): void {
  const there = files.filter(({ path }) => existsSync(join(folder, path)))
  if (there.length > 0) throw new BootError(there.map(({ path }) => `${path} exists already.`))
  for (const { path, text } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}
