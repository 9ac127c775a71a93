// `millrace init` and `millrace new`: create a project, and a plugin in a project.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import type { Command } from "commander"
import { type Declarations, frameworkRoot } from "../../bootstrap/plugins.ts"
import { BootError } from "../../kernel/config.ts"
import { print, type Terminal } from "../../kernel/terminal.ts"
import { makeProject } from "./init.ts"
import { type Kind, kinds, named, parseName } from "./kinds.ts"
import { importsOf, type Project, projectAt, type TemplateFile, templateFiles, writeNew } from "./project.ts"

export interface ScaffoldContext {
  /** The working directory of the command. */
  readonly root: string
  readonly declarations: () => Promise<Declarations>
  /** Regenerates the project's generated files. */
  readonly terminal: Terminal
  readonly refresh: (isFramework: boolean) => Promise<void>
}

export function addScaffoldCommands(program: Command, { root, declarations, refresh, terminal }: ScaffoldContext): void {
  program
    .command("init")
    .description("Create a project that uses Millrace as a package.")
    .argument("<dir>", "folder to create")
    .option("--package <spec>", "dependency on millrace: a version, a tarball or a folder; in a clone, a package of the clone")
    .action((folder: string, options: { package?: string }) => {
      const made = makeProject({ folder: resolve(root, folder), dependency: options.package, terminal })
      print(terminal, made.map((path) => `made ${join(folder, path)}`).join("\n"))
      print(terminal, `\nNext:\n  cd ${folder}\n  npm install\n  npm start`)
    })

  const group = program.command("new").description("Make a plugin that works as it is made, with a test.").showSuggestionAfterError()
  for (const kind of kinds) {
    group
      .command(kind.name)
      .description(kind.summary)
      .argument("<name>", "words in lower case with - between")
      .action(async (given: string) => {
        const project = projectAt(root)
        const declared = await declarations()
        const commands = [...program.commands.map((command) => command.name()), ...groupsOf(declared)]
        const made = makePlugin({ kind, given, project, declarations: declared, commands })
        for (const path of made) print(terminal, `made ${path}`)
        await refresh(project.isFramework)
        const test = made.find((path) => path.endsWith(".test.ts"))
        print(terminal, `\nNext: npx mocha ${test}, and \`npm run check\` for everything.`)
      })
  }
}

/** Returns the first words of plugin commands. */
function groupsOf({ plugins }: Declarations): string[] {
  return plugins
    .flatMap(({ plugin }) => plugin.commands ?? [])
    .map(({ name, group = name }) => (typeof group === "string" ? group : group.name))
}

// `millrace new <kind> NAME`: creates a working plugin folder and its test.

interface NewArgs {
  readonly kind: Kind
  readonly given: string
  readonly project: Project
  readonly declarations: Declarations
  /** Names of commands other than areas. */
  readonly commands: readonly string[]
}

/** Returns the paths of the created files. Throws BootError for an invalid or taken name. */
function makePlugin({ kind, given, project, declarations, commands }: NewArgs): string[] {
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

/** Tests under test/ mirror the plugin's place in the project. */
function placed({ path, text }: TemplateFile, folder: string, name: string, project: Project): TemplateFile {
  const own = importsOf(project, named(text, name))
  if (!path.endsWith(".test.ts")) return { path: `${folder}/${path}`, text: own }
  const test = `test/${folder}.test.ts`
  const plugin = relative(join(test, ".."), `${folder}/index.ts`).replaceAll("\\", "/")
  return { path: test, text: own.replace('"./index.ts"', JSON.stringify(plugin)) }
}

/** A longer name may need another line break. */
function format(folder: string, paths: readonly string[]): void {
  const biome = join(frameworkRoot, "node_modules/.bin/biome")
  if (existsSync(biome)) spawnSync(biome, ["check", "--write", ...paths], { cwd: folder, stdio: "ignore" })
}
