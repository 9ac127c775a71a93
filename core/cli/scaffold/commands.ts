// `millrace init` and `millrace new`: what makes a project, and what makes a plugin in one.
import { join, resolve } from "node:path"
import type { Command } from "commander"
import type { Declarations } from "../../bootstrap/plugins.ts"
import { print, type Terminal } from "../../kernel/terminal.ts"
import { makeProject } from "./init.ts"
import { kinds } from "./kinds.ts"
import { makePlugin } from "./new.ts"
import { projectAt } from "./project.ts"

export interface ScaffoldContext {
  /** The folder that the command was called in. */
  readonly root: string
  readonly declarations: () => Promise<Declarations>
  /** Writes what is made from declarations again, where the project keeps it. */
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

/** First words of the commands that plugins add. */
function groupsOf({ plugins }: Declarations): string[] {
  return plugins
    .flatMap(({ plugin }) => plugin.commands ?? [])
    .map(({ name, group = name }) => (typeof group === "string" ? group : group.name))
}
