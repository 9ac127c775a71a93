// Whose plugins are being made: the framework's own, in its repository, or those of a project that depends on it.
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { frameworkIsSource, frameworkRoot } from "../../bootstrap/plugins.ts"
import { BootError } from "../../kernel/config.ts"

export interface Project {
  readonly folder: string
  /** The framework's repository: its plugins import `#core`, and what is generated of them is committed. */
  readonly isFramework: boolean
}

/** Throws BootError where the folder is not a project. */
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

/** Imports of a template as they are written in a project of the user's. */
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
  /** In the template, with / between. */
  readonly path: string
  readonly text: string
}

/** The files of a template, by their paths in it; the caller chooses the target. */
export function templateFiles(template: string): TemplateFile[] {
  const folder = join(frameworkRoot, "templates", template)
  return globSync("**/*", { cwd: folder })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort()
    .map((path) => ({ path: path.replaceAll("\\", "/"), text: readFileSync(join(folder, path), "utf8") }))
}

/** All of them or none; throws BootError where one of them is there already. */
export function writeNew(folder: string, files: readonly TemplateFile[]): void {
  const there = files.filter(({ path }) => existsSync(join(folder, path)))
  if (there.length > 0) throw new BootError(there.map(({ path }) => `${path} exists already.`))
  for (const { path, text } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}
