// `millrace new <kind> NAME`: a plugin folder that works as it is made, and its test.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join, relative } from "node:path"
import { type Declarations, frameworkRoot } from "../../bootstrap/plugins.ts"
import { BootError } from "../../kernel/config.ts"
import type { Kind } from "./kinds.ts"
import { named, parseName } from "./name.ts"
import { importsOf, type Project } from "./project.ts"
import { type TemplateFile, templateFiles, writeNew } from "./template-files.ts"

export interface NewArgs {
  readonly kind: Kind
  readonly given: string
  readonly project: Project
  readonly declarations: Declarations
  /** Names of the commands that are not areas. */
  readonly commands: readonly string[]
}

/** Paths of what was made. Throws BootError for an invalid or taken name. */
export function makePlugin({ kind, given, project, declarations, commands }: NewArgs): string[] {
  // An action may be named by its type.
  const isType = kind.name === "action" && /^[a-z][a-z0-9]*\.[a-z]/.test(given)
  const name = parseName(isType ? given.replace(".", "-") : given, `an ${kind.name.replace("-", " ")}`)
  const owner = kind.taken(name, declarations, commands) ?? pluginOf(kind.plugin(name), declarations)
  if (owner !== undefined) throw new BootError([`The name "${given}" is taken. ${owner}`])
  const files = templateFiles(kind.name).map((file) => placed(file, kind.folder(name), name, project))
  writeNew(project.folder, files)
  const paths = files.map(({ path }) => path)
  if (project.isFramework) format(project.folder, paths)
  return paths
}

function pluginOf(id: string, { plugins }: Declarations): string | undefined {
  const found = plugins.find(({ plugin }) => plugin.id === id)
  return found && `There is a plugin "${id}": ${found.from}.`
}

/** Tests stand under test/ as the plugin stands in the project. */
function placed({ path, text }: TemplateFile, folder: string, name: string, project: Project): TemplateFile {
  const own = importsOf(project, named(text, name))
  if (!path.endsWith(".test.ts")) return { path: `${folder}/${path}`, text: own }
  const test = `test/${folder}.test.ts`
  const plugin = relative(join(test, ".."), `${folder}/index.ts`).replaceAll("\\", "/")
  return { path: test, text: own.replace('"./index.ts"', JSON.stringify(plugin)) }
}

/** A longer name may want its line broken. */
function format(folder: string, paths: readonly string[]): void {
  const biome = join(frameworkRoot, "node_modules/.bin/biome")
  if (existsSync(biome)) spawnSync(biome, ["check", "--write", ...paths], { cwd: folder, stdio: "ignore" })
}
