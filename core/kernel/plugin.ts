// The shape of a plugin, free of what plugins of this service can declare: that is the registrar's business
// (contract/registrar.ts), so that the kernel knows no operation, action or collection.
import type { z } from "zod"
import type { PluginCommand } from "./command.ts"
import type { ExtensionPoint, Extensions } from "./extension-point.ts"
import type { ReasonSpecs } from "./reasons/define.ts"

export interface Plugin<R, C extends z.ZodType = z.ZodType, E extends readonly unknown[] = readonly unknown[]> {
  /** Unique among the loaded plugins; kebab-case. Its settings stand under this name in the configuration. */
  readonly id: string
  /** Ids of plugins whose exports this one uses. They register, start and migrate first. */
  readonly needs?: readonly string[]
  /** The words that its errors hold in `details.reason` beside core's, made with `defineReasons`. */
  readonly reasons?: ReasonSpecs
  /** Settings an operator may give; checked at boot, all problems in one report. */
  readonly config: C
  /** Points that other plugins extend. */
  readonly extensionPoints?: readonly ExtensionPoint<unknown>[]
  /** Items for extension points: of its own, and of plugins in `needs`. A function receives the settings. */
  readonly extend?: Extensions<E> | ((config: z.output<C>) => Extensions<E> | readonly [])
  register(registrar: R, config: z.output<C>): void
  /** What the `millrace` command can do beside operations: works without a running service. */
  readonly commands?: readonly PluginCommand[]
  /** Files of the plugin that are made from others and kept with them; `millrace generate` writes them. */
  generates?(): Promise<readonly GeneratedFile[]>
}

export interface GeneratedFile {
  /** Absolute. */
  readonly file: string
  readonly text: string
}
