// The list of generated files: what is written where, from which declarations.
import { join } from "node:path"
import { type Declarations, frameworkRoot } from "../bootstrap/plugins.ts"
import { Actions } from "../contract/action.ts"
import { AuthModes } from "../contract/auth-mode.ts"
import { Operations } from "../contract/operation.ts"
import type { GeneratedFile } from "../kernel/plugin.ts"
import type { Registry } from "../kernel/registry.ts"
import { documentSchema } from "../pipeline/document-schema.ts"
import { testFileSchema } from "../rehearsal/test-document.ts"
import { clientOperations } from "./client-operations.ts"
import { byName } from "./markdown.ts"
import { actionPages } from "./reference/actions.ts"
import { authModePages } from "./reference/auth-modes.ts"
import { errorsReference } from "./reference/errors.ts"
import { nameList } from "./reference/names.ts"
import { operationPages } from "./reference/operations.ts"
import { publicApiList, publicApiPage } from "./reference/public-api.ts"
import { pipelineReference, rulePages } from "./reference/rules.ts"
import { settingsReference } from "./reference/settings.ts"
import { testsReference } from "./reference/test-files.ts"

export async function generatedFiles(declarations: Declarations): Promise<GeneratedFile[]> {
  const { plugins, registry } = declarations
  const own: Record<string, string> = {
    "client/operations.generated.ts": await clientOperations(registry),
    "config/pipeline.schema.json": `${pipelineSchema(registry)}\n`,
    "config/pipeline-test.schema.json": `${testFileSchema()}\n`,
    "config/api.txt": nameList(declarations),
    ...actionPages(registry.items(Actions)),
    ...(await authModePages(registry.items(AuthModes))),
    "docs/reference/errors.md": errorsReference(plugins.map(({ plugin }) => plugin)),
    ...operationPages(registry.items(Operations)),
    "docs/reference/pipeline.md": pipelineReference(),
    "docs/reference/settings.md": settingsReference(plugins),
    "docs/reference/tests.md": testsReference(),
    "config/public-api.txt": publicApiList(),
    "docs/reference/api.md": publicApiPage(),
    ...(await rulePages(declarations)),
  }
  const files = Object.entries(own).map(([path, text]) => ({ file: join(frameworkRoot, path), text }))
  for (const { plugin } of plugins) files.push(...((await plugin.generates?.()) ?? []))
  return files
}

/** The JSON Schema of pipeline documents, as text that is the same for the same set of plugins. */
export function pipelineSchema(registry: Registry): string {
  const actions = byName(registry.items(Actions), (action) => action.type)
  const authModes = byName(registry.items(AuthModes), (mode) => mode.mode)
  return JSON.stringify(documentSchema(actions, authModes), null, 2)
}

/** The JSON Schemas that editors complete and check pipelines and their tests by, for a user's own set of plugins. */
export function schemaFiles(registry: Registry, folder: string): GeneratedFile[] {
  return [
    { file: join(folder, "pipeline.schema.json"), text: `${pipelineSchema(registry)}\n` },
    { file: join(folder, "pipeline-test.schema.json"), text: `${testFileSchema()}\n` },
  ]
}
