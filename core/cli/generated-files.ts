// The list of generated files: what is written where, from which declarations.
import { join } from "node:path"
import { Actions } from "../contract/action.ts"
import { AuthModes } from "../contract/auth-mode.ts"
import { Operations } from "../contract/operation.ts"
import { type Declarations, frameworkRoot } from "../house/plugins.ts"
import type { GeneratedFile } from "../kernel/plugin.ts"
import { openApi } from "../surface/openapi.ts"
import { clientOperations } from "./client-operations.ts"
import { pipelineSchema } from "./pipeline-schema.ts"
import { testFileSchema } from "./pipelines/test/test-document.ts"
import { actionsReference } from "./reference/actions.ts"
import { authModesReference } from "./reference/auth-modes.ts"
import { operationsReference } from "./reference/operations.ts"
import { rulePages } from "./reference/rules.ts"
import { settingsReference } from "./reference/settings.ts"

export async function generatedFiles(declarations: Declarations): Promise<GeneratedFile[]> {
  const { plugins, registry } = declarations
  const own: Record<string, string> = {
    "client/operations.generated.ts": await clientOperations(registry),
    "config/pipeline.schema.json": `${pipelineSchema(registry)}\n`,
    "config/pipeline-test.schema.json": `${testFileSchema()}\n`,
    "config/openapi.json": `${JSON.stringify(openApi(registry.items(Operations), { serverUrl: "http://127.0.0.1:8080" }), null, 2)}\n`,
    "docs/reference/actions.md": actionsReference(registry.items(Actions)),
    "docs/reference/auth-modes.md": authModesReference(registry.items(AuthModes)),
    "docs/reference/operations.md": operationsReference(registry.items(Operations)),
    "docs/reference/settings.md": settingsReference(plugins),
    ...(await rulePages(declarations)),
  }
  const files = Object.entries(own).map(([path, text]) => ({ file: join(frameworkRoot, path), text }))
  for (const { plugin } of plugins) files.push(...((await plugin.generates?.()) ?? []))
  return files
}
