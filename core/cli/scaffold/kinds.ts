// The kinds of plugin that can be made: where each goes, and which names are taken.
import type { Declarations } from "../../bootstrap/plugins.ts"
import { Actions } from "../../contract/action.ts"
import { AuthModes } from "../../contract/auth-mode.ts"
import { Collections } from "../../contract/collection.ts"
import { Operations } from "../../contract/operation.ts"
import { actionType, snakeCase } from "./name.ts"

export interface Kind {
  /** As the command and the folder of its template call it. */
  readonly name: "action" | "area" | "auth-mode"
  readonly summary: string
  /** Below the project. */
  readonly folder: (name: string) => string
  readonly plugin: (name: string) => string
  /** Who has the name already, as a sentence; undefined: nobody. */
  readonly taken: (name: string, declarations: Declarations, commands: readonly string[]) => string | undefined
}

/** Words that stand in the place of an area without being one. */
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
