// The commands. They read only declarations and files; `start` alone opens a store and a port. For an unknown name, the commands
// of plugins are loaded.
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { Command, CommanderError } from "commander"
import { type Declarations, frameworkRoot, type LoadedPlugin, loadDeclarations, loadPlugins } from "../bootstrap/plugins.ts"
import type { Fields } from "../client/route.ts"
import type { AnyOperation } from "../contract/operation.ts"
import { CommandProblem, type CommandContext as PluginCommandContext } from "../kernel/command.ts"
import { BootError, type LoadedConfig, loadConfig } from "../kernel/config.ts"
import { leaves, originOf, type Tree } from "../kernel/config-tree.ts"
import { AppError } from "../kernel/errors.ts"
import { isRecord, valueAt } from "../kernel/json.ts"
import type { GeneratedFile } from "../kernel/plugin.ts"
import { print, printError, processTerminal, type Terminal } from "../kernel/terminal.ts"
import { shownSetting } from "../kernel/zod-problems.ts"
import { addBackupCommands } from "./backup.ts"
import { completionScript } from "./completion.ts"
import { addGenerate, projectFiles, writeGenerated } from "./generate.ts"
import { generatedFiles, pipelineSchema, schemaFiles } from "./generated-files.ts"
import { addLoginCommands } from "./login.ts"
import { addOperationCommands, type CommandContext as CallContext, type CommandContext, told } from "./operations/commands.ts"
import { callAsOperator } from "./operator.ts"
import { ownService } from "./own-service.ts"
import { addPluginCommand } from "./plugin-command.ts"
import { addPluginsCommand } from "./plugin-graph.ts"
import { targetOf } from "./profiles.ts"
import { addRotateMasterKey } from "./rotate-master-key.ts"
import { addScaffoldCommands } from "./scaffold/commands.ts"
import { ownManifest } from "./scaffold/project.ts"
import { startedAgain } from "./started-again.ts"

const defaults = join(frameworkRoot, "config/default.yaml")

/** Runs one command line and reports errors on standard error. Returns the exit code. */
export async function runReported(args: readonly string[], terminal: Terminal = processTerminal()): Promise<number> {
  try {
    return await runCommand(args, terminal)
  } catch (error) {
    if (!(error instanceof BootError || error instanceof AppError || error instanceof CommandProblem)) throw error
    printError(terminal, error.message)
    return error instanceof CommandProblem ? error.exitCode : 1
  }
}

/** Runs one command line. Returns the exit code. Throws BootError if configuration or plugins are refused. */
export async function runCommand(args: readonly string[], terminal: Terminal = processTerminal()): Promise<number> {
  let exitCode = 0
  const config = () => ownConfig(terminal.env).config
  const whole = () => loadConfig({ defaults, project: process.cwd(), env: terminal.env }).config
  const own = async () => {
    try {
      return await ownService(config().data_dir)
    } catch (error) {
      // Commands for another service work in any folder.
      if (error instanceof BootError || error instanceof CommandProblem) return undefined
      throw error
    }
  }
  const declarations = () => ownDeclarations(terminal.env)
  const program = new Command("millrace")
    .description("Durable event pipelines: the service and its tools.")
    .version(ownManifest().version, "-V, --version", "print the version")
    .exitOverride()
    .configureOutput({ writeOut: (text) => void terminal.stdout.write(text), writeErr: (text) => void terminal.stderr.write(text) })
    .configureHelp({ showGlobalOptions: true })

  program
    .command("start")
    .description("Start the service. It starts again after a fault.")
    .action(async () => {
      await import("../supervisor.ts")
    })

  program
    .command("config")
    .description("Show the effective settings and their sources; secrets are masked.")
    .action(async () => {
      const loaded = ownConfig(terminal.env)
      const plugins = await loadPlugins({ config: loaded.config, root: process.cwd() })
      print(terminal, describeConfig(loaded, plugins))
    })

  addPluginsCommand(program, () => loadPlugins({ config: config(), root: process.cwd() }), terminal)

  program
    .command("schema")
    .description("Print the JSON Schema of pipeline documents, for shipped plugins and your own.")
    .option("--into <folder>", "write it to this folder, with the schema of pipeline tests, for editors")
    .action(async ({ into }: { into?: string }) => {
      const { registry } = await declarations()
      if (into === undefined) print(terminal, pipelineSchema(registry))
      else writeGenerated(schemaFiles(registry, resolve(into)), terminal)
    })

  const end = (code: number) => {
    exitCode = code
  }
  addGenerate(program, { root: process.cwd(), declarations, shipped: shippedFiles, terminal, end })
  addDev(program, process.cwd(), end)
  addScaffoldCommands(program, { root: process.cwd(), declarations, refresh: (isFramework) => refresh(isFramework, terminal), terminal })
  addBackupCommands(program, whole, terminal, declarations)
  addRotateMasterKey(program, whole, terminal)
  program.showSuggestionAfterError()
  const context = { config, root: process.cwd(), terminal, end }
  const asOperator = async (operation: AnyOperation, input: Fields) =>
    await callAsOperator({ config: whole(), root: process.cwd(), terminal }, operation, input)
  const calls = { terminal, exit: end, own, asOperator }
  addClientCommands(program, calls, () => addDeclaredCommands(program, context, calls))
  if (!isKnown(program, args)) await addShippedCommands(program, context)
  if (!isKnown(program, args)) await addDeclaredCommands(program, context, calls, args)
  try {
    await program.parseAsync(args, { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode
  }
  return exitCode
}

function ownConfig(env: NodeJS.ProcessEnv): LoadedConfig {
  return loadConfig({ defaults, project: process.cwd(), env, unset: "placeholder" })
}

function ownDeclarations(env: NodeJS.ProcessEnv): Promise<Declarations> {
  const { config } = ownConfig(env)
  return loadDeclarations({ config, root: process.cwd() })
}

/** Generated from the shipped plugins only, for any local configuration. */
async function shippedFiles(): Promise<GeneratedFile[]> {
  const { config } = loadConfig({ defaults, env: {} })
  return generatedFiles(await loadDeclarations({ config, root: frameworkRoot }))
}

async function refresh(isFramework: boolean, terminal: Terminal): Promise<void> {
  writeGenerated(isFramework ? await shippedFiles() : await projectFiles(await ownDeclarations(terminal.env), process.cwd()), terminal)
}

function isKnown(program: Command, [first = "", second = ""]: readonly string[]): boolean {
  if (first === "--version" || first === "-V") return true
  const known = program.commands.find((command) => command.name() === first)
  if (!known || known.commands.length === 0) return known !== undefined
  return known.commands.some((command) => command.name() === second)
}

/** Commands of the shipped plugins. Available even with an invalid configuration or project plugin. */
async function addShippedCommands(program: Command, context: Omit<PluginCommandContext, "args">): Promise<void> {
  const { config } = loadConfig({ defaults, env: {} })
  addPluginCommands(program, await loadPlugins({ config, root: frameworkRoot }), context)
}

async function addDeclaredCommands(
  program: Command,
  context: Omit<PluginCommandContext, "args">,
  calls: CallContext,
  line?: readonly string[],
): Promise<void> {
  const { plugins, registry } = await ownDeclarations(context.terminal.env)
  addPluginCommands(program, plugins, context)
  addOperationCommands(program, registry, calls, line)
}

function addPluginCommands(program: Command, plugins: readonly LoadedPlugin[], context: Omit<PluginCommandContext, "args">): void {
  for (const command of plugins.flatMap(({ plugin }) => plugin.commands ?? [])) addPluginCommand(program, command, context)
}

// Formats the output of `millrace config`: one line for each value with its origin. Secrets are masked.

function describeConfig({ config, origins }: LoadedConfig, plugins: readonly LoadedPlugin[]): string {
  const { settings: _, ...ownPlugins } = config.plugins
  const settings = Object.fromEntries(plugins.map(({ plugin, config: own }) => [plugin.id, own]))
  const tree: Tree = { ...config, plugins: { ...ownPlugins, settings } }
  const rows = leaves(tree).flatMap((path) => {
    const value = valueAt(tree, path.split("."))
    if (isRecord(value)) return []
    const origin =
      origins.get(path) ?? (path.startsWith("plugins.settings.") ? "the plugin's default" : originOf(path, origins)) ?? "nowhere"
    return [{ path, value: origin.includes("from_env") ? "[set]" : shownSetting(path, value), origin }]
  })
  const width = Math.max(...rows.map(({ path }) => path.length))
  return rows.map(({ path, value, origin }) => `${path.padEnd(width)}  ${value}  # ${origin}`).join("\n")
}

// `millrace dev`: runs a project's service and restarts it after changes of plugins or settings. Changed pipeline files are
// applied without a restart.

function addDev(program: Command, root: string, end: (exitCode: number) => void): void {
  program
    .command("dev")
    .description("Start the service, restart it when plugins/ or config/ change, and apply pipeline files when they change.")
    .action(async () => {
      const folders = ["plugins", "config"].map((folder) => join(root, folder)).filter((folder) => existsSync(folder))
      end(await startedAgain({ folders, command: [join(frameworkRoot, "core/dev.js")], cwd: root }))
    })
}

/** Commands of API clients besides operations: keys, shell completion, MCP. */
function addClientCommands(program: Command, context: CommandContext, addDeclared: () => Promise<void>): void {
  addLoginCommands(program, context)
  program
    .command("completion")
    .description("Print the completion script of a shell: bash, zsh or fish.")
    .argument("<shell>", "bash, zsh or fish")
    .action((shell: string) =>
      told({ context }, async () => {
        await addDeclared()
        context.terminal.stdout.write(completionScript(shell, program))
      }),
    )
  program
    .command("mcp")
    .description("Serve the service's MCP tools over standard input and output, with the key of a profile.")
    .option("--profile <name>", "of `millrace login`")
    .option("--organization <slug>", "act in this organization")
    .option("--tools <toolsets>", "offer these toolsets, such as `pipelines,datasets`")
    .option("--read-only", "offer only tools that change nothing")
    .action((asked: { profile?: string; organization?: string; tools?: string; readOnly?: true }) =>
      told({ context }, async () => {
        const { serveMcp } = await import("./mcp.ts")
        const target = targetOf(context.terminal.env, { ...asked, own: await context.own?.() })
        await serveMcp({ ...target, tools: asked.tools, readOnly: asked.readOnly === true }, context.terminal)
      }),
    )
}
