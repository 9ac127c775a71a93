// Loads the shipped and the configured plugins with their declarations. Declarations need no store and no port. Commands
// read them to write schemas and documentation.
import { join, resolve } from "node:path"
import type { AnyPlugin, Registrar } from "../contract/registrar.ts"
import { registerPlugin } from "../contract/registrar.ts"
import { BootError, type CoreConfig } from "../kernel/config.ts"
import { Container } from "../kernel/di.ts"
import { extending, extensionProblems } from "../kernel/extension-point.ts"
import { findPlugins, type OrderedPlugin, orderPlugins } from "../kernel/loader.ts"
import { reasonConflicts } from "../kernel/reasons.ts"
import { Registry } from "../kernel/registry.ts"

/** The folder of `core/`, with the shipped plugins and pipelines. */
export const frameworkRoot = resolve(import.meta.dirname, "../..")

/** False if the framework is the built package. */
export const frameworkIsSource = import.meta.filename.endsWith(".ts")

/** Always loaded, with any configuration. */
const shippedPlugins = join(frameworkRoot, "plugins")

export interface LoadPluginsArgs {
  readonly config: CoreConfig
  /** Base folder of relative folders, before the framework's own. */
  readonly root: string
  /** Plugins in addition to the shipped and the configured ones. A plugin in several lists is loaded once. */
  readonly plugins?: readonly AnyPlugin[]
}

export type LoadedPlugin = OrderedPlugin<Registrar>

/** Finds the plugins, checks their settings, and orders each after its needs. Throws BootError with every problem. */
export async function loadPlugins({ config, root, plugins = [] }: LoadPluginsArgs): Promise<LoadedPlugin[]> {
  const problems: string[] = []
  const paths = [shippedPlugins, ...config.plugins.paths]
  const found = await findPlugins<Registrar>({ paths, roots: [root, frameworkRoot] }, problems)
  const given = plugins.filter((plugin) => !found.some((one) => one.plugin === plugin)).map((plugin) => ({ plugin, from: "the host" }))
  const ordered = orderPlugins<Registrar>([...found, ...given], config.plugins.settings, problems, config.unset)
  problems.push(...extensionProblems(ordered.map(({ plugin, config: settings }) => extending(plugin, settings))))
  problems.push(...reasonConflicts(ordered.map(({ plugin }) => plugin)))
  if (problems.length > 0) throw new BootError(problems)
  return ordered
}

export function registerPlugins(plugins: readonly LoadedPlugin[], into: { container: Container; registry: Registry }): void {
  const problems: string[] = []
  for (const { plugin, config } of plugins) {
    try {
      registerPlugin(plugin, config, into.container, into.registry)
    } catch (error) {
      problems.push(`The plugin "${plugin.id}" could not register: ${(error as Error).message}`)
    }
  }
  if (problems.length > 0) throw new BootError(problems)
}

export interface Declarations {
  readonly plugins: readonly LoadedPlugin[]
  readonly registry: Registry
}

/** Returns the declarations of all plugins. No service is created, so no file or connection is opened. */
export async function loadDeclarations(args: LoadPluginsArgs): Promise<Declarations> {
  const plugins = await loadPlugins(args)
  const registry = new Registry()
  registerPlugins(plugins, { container: new Container(), registry })
  return { plugins, registry }
}
