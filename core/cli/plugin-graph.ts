// `millrace plugins`: the loaded plugins, their needs, and the extension points with their users.
import { type Command, Option } from "commander"
import type { LoadedPlugin } from "../bootstrap/plugins.ts"
import { extending } from "../kernel/extension-point.ts"
import { print, type Terminal } from "../kernel/terminal.ts"

interface PluginGraph {
  readonly plugins: readonly { readonly id: string; readonly needs: readonly string[] }[]
  readonly extension_points: readonly {
    readonly id: string
    readonly plugin: string
    readonly required: boolean
    /** Plugins with items for the point, in the order of the items. */
    readonly extended_by: readonly string[]
  }[]
}

interface PluginOptions {
  readonly graph?: boolean
  readonly json?: boolean
  readonly format: "text" | "mermaid"
}

export function addPluginsCommand(program: Command, load: () => Promise<LoadedPlugin[]>, terminal: Terminal): void {
  program
    .command("plugins")
    .description("List the loaded plugins; with --graph also their extension points and the plugins that extend them.")
    .option("--graph", "show extension points, their users, and the needs of plugins")
    .addOption(new Option("--format <format>", "of the graph").choices(["text", "mermaid"]).default("text"))
    .option("--json", "print the graph as JSON")
    .action(async ({ graph: isGraph, json, format }: PluginOptions) => {
      const plugins = await load()
      const graph = graphOf(plugins)
      if (json) print(terminal, JSON.stringify(graph, null, 2))
      else if (!isGraph) print(terminal, columns(plugins.map(({ plugin, from }) => [plugin.id, from])).join("\n"))
      else print(terminal, format === "mermaid" ? mermaid(graph) : text(graph))
    })
}

function graphOf(loaded: readonly LoadedPlugin[]): PluginGraph {
  const plugins = loaded.map(({ plugin, config }) => extending(plugin, config))
  return {
    plugins: plugins.map(({ id, needs }) => ({ id, needs })),
    extension_points: plugins.flatMap(({ id: plugin, points }) =>
      points.map((point) => {
        const users = plugins.filter(({ extend }) => extend.some(([extended]) => extended === point))
        return { id: point.name, plugin, required: point.isRequired, extended_by: users.map(({ id }) => id) }
      }),
    ),
  }
}

function text({ plugins, extension_points }: PluginGraph): string {
  const points = extension_points.map(({ id, required, extended_by }) => [
    id,
    `${extended_by.length === 0 ? "no plugin extends it" : `extended by ${extended_by.join(", ")}`}${required ? " (required)" : ""}`,
  ])
  const needs = plugins.map(({ id, needs: needed }) => [id, needed.length === 0 ? "" : `needs ${needed.join(", ")}`])
  return ["Extension points", ...columns(points, "  "), "", "Plugins", ...columns(needs, "  ")].join("\n")
}

function columns(rows: readonly (readonly string[])[], indent = ""): string[] {
  const width = Math.max(0, ...rows.map(([first = ""]) => first.length))
  return rows.map(([first = "", second = ""]) => `${indent}${first.padEnd(width)}  ${second}`.trimEnd())
}

function mermaid({ plugins, extension_points }: PluginGraph): string {
  const lines = ["flowchart LR", ...plugins.map(({ id }) => `  ${nameOf(id)}["${id}"]`)]
  for (const { id, plugin, extended_by } of extension_points) {
    lines.push(`  ${nameOf(id)}(["${id}"])`, `  ${nameOf(plugin)} --- ${nameOf(id)}`)
    for (const user of extended_by) lines.push(`  ${nameOf(user)} -. extends .-> ${nameOf(id)}`)
  }
  for (const { id, needs } of plugins) for (const need of needs) lines.push(`  ${nameOf(id)} --> ${nameOf(need)}`)
  return lines.join("\n")
}

/** The prefix avoids keywords of Mermaid, such as `end`. */
function nameOf(id: string): string {
  return `n_${id.replaceAll(/[^a-z0-9]/gi, "_")}`
}
