// Reads the declarations of a plugin through its entry point.
import { Actions, type AnyAction } from "../../core/contract/action.ts"
import { type AnyPlugin, registerPlugin } from "../../core/contract/registrar.ts"
import { Container } from "../../core/kernel/di.ts"
import { Registry } from "../../core/kernel/registry.ts"

export function declaredBy(plugin: AnyPlugin, settings: object = {}): Registry {
  const registry = new Registry()
  registerPlugin(plugin, plugin.config.parse(settings), new Container(), registry)
  return registry
}

/** Returns the action of a plugin with one action. */
export function actionOf(plugin: AnyPlugin): AnyAction {
  const [action] = declaredBy(plugin).items(Actions)
  if (!action) throw new Error(`The plugin "${plugin.id}" declares no action.`)
  return action
}
