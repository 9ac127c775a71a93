// Whose plugins are being made: the framework's own, in its repository, or those of a project that depends on it.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
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
