// The files of a template, by their paths in it; the caller chooses the target.
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { frameworkRoot } from "../../bootstrap/plugins.ts"
import { BootError } from "../../kernel/config.ts"

export interface TemplateFile {
  /** In the template, with / between. */
  readonly path: string
  readonly text: string
}

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
