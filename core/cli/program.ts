// The commands. Each reads declarations and files only; `start` alone opens a store and a port. Plugins add commands of
// their own, which are looked up when a name is none of these.
import { join, resolve } from "node:path"
import { Command, CommanderError } from "commander"
import { type Declarations, frameworkIsSource, frameworkRoot, loadDeclarations, loadPlugins } from "../bootstrap/plugins.ts"
import { type LoadedConfig, loadConfig } from "../kernel/config.ts"
import type { GeneratedFile } from "../kernel/plugin.ts"
import { addBackupCommands } from "./backup.ts"
import { addClientCommands } from "./client-commands.ts"
import { describeConfig } from "./describe-config.ts"
import { addDev } from "./dev.ts"
import { checkGenerated, writeGenerated } from "./generate.ts"
import { generatedFiles } from "./generated-files.ts"
import { addOperationCommands, type CommandContext } from "./operations/commands.ts"
import { pipelineSchema } from "./pipeline-schema.ts"
import { addPipelineCommands } from "./pipelines/commands.ts"
import { addPluginCommand } from "./plugin-command.ts"
import { addRotateMasterKey } from "./rotate-master-key.ts"
import { addScaffoldCommands } from "./scaffold/commands.ts"
import { schemaFiles } from "./schema-files.ts"
import { processTerminal, type Terminal } from "./terminal.ts"

const defaults = join(frameworkRoot, "config/default.yaml")

/** Runs one command line; returns the exit code. Throws BootError where configuration or plugins are refused. */
export async function runCommand(args: readonly string[], terminal: Terminal = processTerminal()): Promise<number> {
  let exitCode = 0
  const program = new Command("millrace")
    .description("Durable event pipelines: runs the service, and what goes with it.")
    .exitOverride()
    .configureOutput({ writeOut: (text) => void terminal.stdout.write(text), writeErr: (text) => void terminal.stderr.write(text) })
    .configureHelp({ showGlobalOptions: true })

  program
    .command("start")
    .description("Start the service.")
    .action(async () => {
      await import("../main.ts")
    })

  program
    .command("config")
    .description("Show the settings that hold, and where each comes from; secrets are masked.")
    .action(async () => {
      const loaded = ownConfig()
      const plugins = await loadPlugins({ config: loaded.config, root: process.cwd() })
      console.log(describeConfig(loaded, plugins))
    })

  program
    .command("schema")
    .description("Print the JSON Schema of pipeline documents, for the plugins that ship and your own.")
    .option("--into <folder>", "write it there instead, and that of pipeline tests, for editors")
    .action(async ({ into }: { into?: string }) => {
      const { registry } = await ownDeclarations()
      if (into === undefined) console.log(pipelineSchema(registry))
      else writeGenerated(schemaFiles(registry, resolve(into)))
    })

  // What is generated is kept in the framework's repository; a package has none.
  if (frameworkIsSource)
    program
      .command("generate")
      .description("Write the files that are made from declarations and kept in the repository.")
      .option("--check", "write nothing; fail when one of them is not current")
      .action(async ({ check }: { check?: boolean }) => {
        const files = await shippedFiles()
        exitCode = check ? checkGenerated(files) : writeGenerated(files)
      })

  const end = (code: number) => {
    exitCode = code
  }
  addDev(program, process.cwd(), end)
  addScaffoldCommands(program, { root: process.cwd(), declarations: ownDeclarations, refresh })
  addBackupCommands(program, () => ownConfig().config)
  addRotateMasterKey(program, () => ownConfig().config)
  addPipelineCommands(program, { config: () => ownConfig().config, root: process.cwd(), end })
  program.showSuggestionAfterError()
  addClientCommands(program, { terminal, exit: end }, ownDeclarations)
  if (needsPlugins(program, args)) await addDeclaredCommands(program, { terminal, exit: end })
  try {
    await program.parseAsync(args, { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode
  }
  return exitCode
}

function ownConfig(): LoadedConfig {
  return loadConfig({ defaults, project: process.cwd(), env: process.env })
}

function ownDeclarations(): Promise<Declarations> {
  return loadDeclarations({ config: ownConfig().config, root: process.cwd() })
}

/** Made from what ships, whatever this machine's configuration says. */
async function shippedFiles(): Promise<GeneratedFile[]> {
  const { config } = loadConfig({ defaults, env: {} })
  return generatedFiles(await loadDeclarations({ config, root: frameworkRoot }))
}

async function refresh(isFramework: boolean): Promise<void> {
  writeGenerated(isFramework ? await shippedFiles() : schemaFiles((await ownDeclarations()).registry, resolve("config")))
}

/** Plugins are loaded where a name is none of the core's own commands. */
function needsPlugins(program: Command, [first = "", second = ""]: readonly string[]): boolean {
  const known = program.commands.find((command) => command.name() === first)
  if (!known || known.commands.length === 0) return !known
  return !known.commands.some((command) => command.name() === second)
}

async function addDeclaredCommands(program: Command, context: CommandContext): Promise<void> {
  const { plugins, registry } = await ownDeclarations()
  for (const command of plugins.flatMap(({ plugin }) => plugin.commands ?? [])) addPluginCommand(program, command, context.exit)
  addOperationCommands(program, registry, context)
}
