// docs/reference/settings.md: all settings of the core and of shipped plugins, with default and variable.
import { join } from "node:path"
import { frameworkRoot, type LoadedPlugin } from "../../bootstrap/plugins.ts"
import { loadConfig, variableFor } from "../../kernel/config.ts"
import { CoreConfig } from "../../kernel/config-schema.ts"
import { valueAt } from "../../kernel/json.ts"
import { byName, fieldsOf, fieldTable, generatedNote, table } from "../markdown.ts"

export function settingsReference(plugins: readonly LoadedPlugin[]): string {
  const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: {} })
  const core = fieldsOf(CoreConfig, { deep: true }).map(({ name, type, description }) => [
    `\`${name}\``,
    type,
    `\`${JSON.stringify(valueAt(config, name.split(".")))}\``,
    `\`${variableFor(name)}\``,
    description,
  ])
  const own = byName(plugins, ({ plugin }) => plugin.id)
    .map(({ plugin }) => ({ id: plugin.id, fields: fieldsOf(plugin.config) }))
    .filter(({ fields }) => fields.length > 0)
    .flatMap(({ id, fields }) => [`### ${id}`, fieldTable(fields)])
  return `${[
    generatedNote("the schemas of the settings"),
    "# Settings",
    "`config/default.yaml` holds the defaults; a project's `config/millrace.yaml`, or the YAML file that `MILLRACE_CONFIG` names, overrides them, and variables override both. In that file a value may be `{ from_env: NAME }`. A list is written with commas in a variable, `plugins.settings` as JSON. `millrace config` shows the effective values and their sources.",
    table(["setting", "type", "default", "variable", ""], core),
    "## Settings of plugins",
    "Under `plugins.settings.<id>`.",
    ...own,
  ].join("\n\n")}\n`
}
