// A command of `millrace` that a plugin adds, and what such a command is given.
import type { CoreConfig } from "./config-schema.ts"
import type { Terminal } from "./terminal.ts"

/** A command of `millrace` that a plugin adds, beside those made of its operations. */
// biome-ignore lint/suspicious/noExplicitAny: a list of commands holds those of every options type.
export interface PluginCommand<O = any> {
  /** kebab-case. */
  readonly name: string
  /** The command that this one stands under, such as `pipelines`; one plugin of a group gives its summary too. */
  readonly group?: string | { readonly name: string; readonly summary: string }
  readonly summary: string
  /** Positional: `<file>`, or `[files...]` where none is needed and several may be given. */
  readonly arguments?: readonly { readonly name: string; readonly summary: string }[]
  readonly options?: readonly CommandOption[]
  /** `options` by name in camel case. What is returned is printed, with the exit code where it is not 0. */
  run(options: O, context: CommandContext): Promise<CommandResult | undefined> | CommandResult | undefined
}

/** An option of a command, as its user writes it. */
export interface CommandOption {
  /** `--name`, `--name VALUE` for one that takes a value, `--name <value...>` for several. */
  readonly flags: string
  readonly summary: string
  /** Must be given. */
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

/** What a command is given beside its options. */
export interface CommandContext {
  /** Positional arguments as given. */
  readonly args: readonly string[]
  /** As configured; throws BootError with every problem. */
  readonly config: () => CoreConfig
  /** What relative folders in the configuration are relative to. */
  readonly root: string
  readonly terminal: Terminal
  /** Sets the exit code, where the command prints as it goes. */
  readonly end: (exitCode: number) => void
}

/** What a command prints, and its exit code where that is not 0. */
export type CommandResult = string | { readonly text: string; readonly exitCode: number }

/** A problem on this side: the command line, a file, a profile. */
export class CommandProblem extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = "CommandProblem"
    this.exitCode = exitCode
  }
}
