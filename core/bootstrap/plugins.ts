// The plugins that ship and those that the configuration names, and what they declare. Declarations alone need no store
// and no port: the command reads them to write schemas and documentation.
import { join, resolve } from "node:path"
import type { AnyPlugin, Registrar } from "../contract/registrar.ts"
import { registerPlugin } from "../contract/registrar.ts"
import { BootError, type CoreConfig } from "../kernel/config.ts"
import { Container } from "../kernel/di.ts"
import { extending, extensionProblems } from "../kernel/extension-point.ts"
import { findPlugins, type OrderedPlugin, orderPlugins } from "../kernel/loader.ts"
import { reasonConflicts } from "../kernel/reasons.ts"
import { Registry } from "../kernel/registry.ts"

/** The folder that holds `core/`: where the plugins and pipelines that ship with the framework are. */
export const frameworkRoot = resolve(import.meta.dirname, "../..")

/** False where the framework is the package that was built of it. */
export const frameworkIsSource = import.meta.filename.endsWith(".ts")

/** Always loaded, for any configuration. */
const shippedPlugins = join(frameworkRoot, "plugins")

export interface LoadPluginsArgs {
  readonly config: CoreConfig
  /** What relative folders are relative to, before the framework's own. */
  readonly root: string
  /** Plugins beside those that ship and those that the configuration names; one of these is not loaded twice. */
  readonly plugins?: readonly AnyPlugin[]
}

export type LoadedPlugin = OrderedPlugin<Registrar>

/** Found, their settings checked, each after what it needs. Throws BootError with every problem. */
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

/** What the plugins declare. No service is created, so nothing is opened. */
export async function loadDeclarations(args: LoadPluginsArgs): Promise<Declarations> {
  const plugins = await loadPlugins(args)
  const registry = new Registry()
  registerPlugins(plugins, { container: new Container(), registry })
  return { plugins, registry }
}
