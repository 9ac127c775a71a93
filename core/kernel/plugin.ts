// The shape of a plugin, free of what plugins of this service can declare: that is the registrar's business
// (contract/registrar.ts), so that the kernel knows no operation, action or collection.
import type { z } from "zod"

export interface Plugin<R, C extends z.ZodType = z.ZodType> {
  /** Unique among the loaded plugins; kebab-case. Its settings stand under this name in the configuration. */
  readonly id: string
  /** Ids of plugins whose exports this one uses. They register, start and migrate first. */
  readonly needs?: readonly string[]
  /** Settings an operator may give; checked at boot, all problems in one report. */
  readonly config: C
  register(registrar: R, config: z.output<C>): void
  /** What the `millrace` command can do beside operations: works without a running service. */
  readonly commands?: readonly PluginCommand[]
  /** Files of the plugin that are made from others and kept with them; `millrace generate` writes them. */
  generates?(): Promise<readonly GeneratedFile[]>
}

/** A command of `millrace` that a plugin adds, beside those made of its operations. */
export interface PluginCommand {
  /** kebab-case. */
  readonly name: string
  /** The command that this one stands under, such as `pipelines`. */
  readonly group?: string
  readonly summary: string
  /** `--name`, or `--name VALUE` for one that takes a value; a mandatory one must be given. */
  readonly options?: readonly { readonly flags: string; readonly summary: string; readonly mandatory?: boolean }[]
  /** `options` by name in camel case. Returns what is printed, and the exit code where it is not 0. */
  run(options: Readonly<Record<string, string | boolean | undefined>>): Promise<CommandResult> | CommandResult
}

/** What a command prints, and its exit code where that is not 0. */
export type CommandResult = string | { readonly text: string; readonly exitCode: number }

export interface GeneratedFile {
  /** Absolute. */
  readonly file: string
  readonly text: string
}
