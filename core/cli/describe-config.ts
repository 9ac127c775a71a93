// What `millrace config` prints: one line a value, secrets masked, with its origin.
import type { LoadedPlugin } from "../bootstrap/plugins.ts"
import type { LoadedConfig } from "../kernel/config.ts"
import { isTree, leaves, originOf, type Tree, valueAt } from "../kernel/config-tree.ts"
import { shownSetting } from "../kernel/setting-problems.ts"

export function describeConfig({ config, origins }: LoadedConfig, plugins: readonly LoadedPlugin[]): string {
  const { settings: _, ...ownPlugins } = config.plugins
  const settings = Object.fromEntries(plugins.map(({ plugin, config: own }) => [plugin.id, own]))
  const tree: Tree = { ...config, plugins: { ...ownPlugins, settings } }
  const rows = leaves(tree).flatMap((path) => {
    const value = valueAt(tree, path)
    if (isTree(value)) return []
    const origin =
      origins.get(path) ?? (path.startsWith("plugins.settings.") ? "the plugin's default" : originOf(path, origins)) ?? "nowhere"
    return [{ path, value: origin.includes("from_env") ? "[set]" : shownSetting(path, value), origin }]
  })
  const width = Math.max(...rows.map(({ path }) => path.length))
  return rows.map(({ path, value, origin }) => `${path.padEnd(width)}  ${value}  # ${origin}`).join("\n")
}
