// The kinds of plugins for `millrace new`: their folders and taken names.
import type { Declarations } from "../../bootstrap/plugins.ts"
import { Actions } from "../../contract/action.ts"
import { AuthModes } from "../../contract/auth-mode.ts"
import { Collections } from "../../contract/collection.ts"
import { slugOf } from "../../contract/fields.ts"
import { Operations } from "../../contract/operation.ts"
import { BootError } from "../../kernel/config.ts"

export interface Kind {
  /** Name in the command and of the template folder. */
  readonly name: "action" | "area" | "auth-mode"
  readonly summary: string
  /** Relative to the project. */
  readonly folder: (name: string) => string
  readonly plugin: (name: string) => string
  /** Returns a sentence with the owner of the name. Undefined if the name is free. */
  readonly taken: (name: string, declarations: Declarations, commands: readonly string[]) => string | undefined
}

/** Reserved words in the place of an area. */
const reserved = ["inbound", "live", "mcp", "docs"]

export const kinds: readonly Kind[] = [
  {
    name: "action",
    summary: "Create an action type, such as lead-score, with a test.",
    folder: (name) => `plugins/actions/${name}`,
    plugin: (name) => `action-${name}`,
    taken: (name, { registry }) => {
      const type = actionType(name)
      const owner = registry.all(Actions).find(({ item }) => item.type === type)?.plugin
      return owner && `The action type "${type}" is that of the plugin "${owner}".`
    },
  },
  {
    name: "area",
    summary: "Create an area of the API with its operations, named in the plural, such as gift-cards, with a test.",
    folder: (name) => `plugins/${name}`,
    plugin: (name) => name,
    taken: (name, { registry }, commands) => {
      const area = snakeCase(name)
      if (reserved.includes(name) || commands.includes(name)) return `"${name}" is reserved in the API or as a command.`
      const operation = registry
        .all(Operations)
        .find(({ item }) => item.name.startsWith(`${area}.`) || `${item.http.path}/`.startsWith(`/v1/${name}/`))
      if (operation) return `The area "${area}" is that of the plugin "${operation.plugin}", which has ${operation.item.name}.`
      const collection = registry.all(Collections).find(({ item }) => item.name === area)
      return collection && `The plugin "${collection.plugin}" has a collection named "${area}".`
    },
  },
  {
    name: "auth-mode",
    summary: "Create an auth mode, which verifies senders of events, such as partner-token, with a test.",
    folder: (name) => `plugins/auth-modes/${name}`,
    plugin: (name) => `auth-${name}`,
    taken: (name, { registry }) => {
      const mode = snakeCase(name)
      const owner = registry.all(AuthModes).find(({ item }) => item.mode === mode)?.plugin
      return owner && `The auth mode "${mode}" is that of the plugin "${owner}".`
    },
  },
]

/** Validates a folder name: lower-case words with - between them. */
export function parseName(text: string, what: string): string {
  if (/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(text) && text.length <= 50) return text
  const near = slugOf(text.replaceAll(".", "-"), "plugin").replace(/^[0-9-]+/, "")
  const rule = "lower-case letters and digits, words with - between, a letter first, 50 characters at most"
  throw new BootError([`"${text}" cannot be the name of ${what}: ${rule}.${near && near !== text ? ` Did you mean "${near}"?` : ""}`])
}

/** `lead-score` becomes the action `lead.score`. Further words belong to the second part. */
function actionType(name: string): string {
  return name.replace("-", ".").replaceAll("-", "_")
}

function snakeCase(name: string): string {
  return name.replaceAll("-", "_")
}

/** Replaces all forms of the sample name in a template's text. */
export function named(text: string, name: string): string {
  const words = name.replaceAll("-", " ")
  const header = name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())
  return text
    .replaceAll("sample.name", actionType(name))
    .replaceAll("sample_name", snakeCase(name))
    .replaceAll("sample-name", name)
    .replaceAll("Sample-Name", header)
    .replaceAll("SampleName", header.replaceAll("-", ""))
    .replaceAll("sample name", words)
    .replaceAll("Sample name", words.charAt(0).toUpperCase() + words.slice(1))
}
