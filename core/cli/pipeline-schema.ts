// The JSON Schema of pipeline documents, as text that is the same for the same set of plugins.
import { Actions } from "../contract/action.ts"
import { AuthModes } from "../contract/auth-mode.ts"
import type { Registry } from "../kernel/registry.ts"
import { documentSchema } from "../pipeline/document-schema.ts"
import { byName } from "./markdown.ts"

export function pipelineSchema(registry: Registry): string {
  const actions = byName(registry.items(Actions), (action) => action.type)
  const authModes = byName(registry.items(AuthModes), (mode) => mode.mode)
  return JSON.stringify(documentSchema(actions, authModes), null, 2)
}
