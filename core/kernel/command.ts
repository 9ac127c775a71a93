// A `millrace` command of a plugin, and its context.
import type { CoreConfig } from "./config-schema.ts"
import type { Terminal } from "./terminal.ts"

/** A `millrace` command of a plugin, in addition to the commands of its operations. */
// biome-ignore lint/suspicious/noExplicitAny: a list of commands holds those of every options type.
export interface PluginCommand<O = any> {
  /** kebab-case. */
  readonly name: string
  /** The parent command, such as `pipelines`. One plugin of a group also gives the group's summary. */
  readonly group?: string | { readonly name: string; readonly summary: string }
  readonly summary: string
  /** Positional: `<file>`, or `[files...]` for any number of files. */
  readonly arguments?: readonly { readonly name: string; readonly summary: string }[]
  readonly options?: readonly CommandOption[]
  /** `options` by name in camel case. Prints the result. The exit code is 0 unless the result names another. */
  run(options: O, context: CommandContext): Promise<CommandResult | undefined> | CommandResult | undefined
}

/** An option of a command, in the user's notation. */
export interface CommandOption {
  /** `--name` for a flag, `--name VALUE` for a value, `--name <value...>` for several values. */
  readonly flags: string
  readonly summary: string
  /** True if the option is required. */
  readonly mandatory?: boolean
  readonly choices?: readonly string[]
  readonly default?: string
}

/** Options of commands that call a running service. */
export const serviceOptions: readonly CommandOption[] = [
  {
    flags: "--profile <name>",
    summary: "of `millrace login`; MILLRACE_PROFILE, or the running service of this folder, or the current one",
  },
  { flags: "--url <url>", summary: "the service; MILLRACE_URL, or that of the profile" },
  { flags: "--key <key>", summary: "an API key; MILLRACE_KEY, or that of the profile" },
  { flags: "--organization <slug>", summary: "the organization; MILLRACE_ORGANIZATION, or that of the profile or the key" },
]

/** The context of a command run. */
export interface CommandContext {
  /** Positional arguments in order. */
  readonly args: readonly string[]
  /** Loads the configuration. Throws BootError with every problem. */
  readonly config: () => CoreConfig
  /** Base folder of relative folders in the configuration. */
  readonly root: string
  readonly terminal: Terminal
  /** Sets the exit code, for a command that prints as it runs. */
  readonly end: (exitCode: number) => void
}

/** The output of a command, with its exit code if that is not 0. */
export type CommandResult = string | { readonly text: string; readonly exitCode: number }

/** A local problem: the command line, a file, a profile. */
export class CommandProblem extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = "CommandProblem"
    this.exitCode = exitCode
  }
}
