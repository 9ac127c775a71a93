// The shape of a plugin. The registrar (contract/registrar.ts) defines the possible declarations, so the kernel does not depend
// on operations, actions or collections.
import type { z } from "zod"
import type { PluginCommand } from "./command.ts"
import type { ExtensionPoint, Extensions } from "./extension-point.ts"
import type { ReasonSpecs } from "./reasons/define.ts"

export interface Plugin<R, C extends z.ZodType = z.ZodType, E extends readonly unknown[] = readonly unknown[]> {
  /** Unique among the loaded plugins; kebab-case. The plugin's settings have this name in the configuration. */
  readonly id: string
  /** Ids of plugins whose exports this plugin uses. They register, start and migrate first. */
  readonly needs?: readonly string[]
  /** The plugin's own words for `details.reason`, made with `defineReasons`. */
  readonly reasons?: ReasonSpecs
  /** Settings for operators, checked at boot. All problems appear in one report. */
  readonly config: C
  /** Points that other plugins extend. */
  readonly extensionPoints?: readonly ExtensionPoint<unknown>[]
  /** Items for extension points: of its own, and of plugins in `needs`. A function receives the settings. */
  readonly extend?: Extensions<E> | ((config: z.output<C>) => Extensions<E> | readonly [])
  register(registrar: R, config: z.output<C>): void
  /** Commands of `millrace` outside operations. They work without a running service. */
  readonly commands?: readonly PluginCommand[]
  /** Generated files, stored beside their sources. `millrace generate` writes them. */
  generates?(): Promise<readonly GeneratedFile[]>
}

export interface GeneratedFile {
  /** Absolute. */
  readonly file: string
  readonly text: string
}
