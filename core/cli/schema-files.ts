// The JSON Schemas that editors complete and check pipelines and their tests by, for a user's own set of plugins.
import { join } from "node:path"
import type { GeneratedFile } from "../kernel/plugin.ts"
import type { Registry } from "../kernel/registry.ts"
import { testFileSchema } from "../rehearsal/test-document.ts"
import { pipelineSchema } from "./pipeline-schema.ts"

export function schemaFiles(registry: Registry, folder: string): GeneratedFile[] {
  return [
    { file: join(folder, "pipeline.schema.json"), text: `${pipelineSchema(registry)}\n` },
    { file: join(folder, "pipeline-test.schema.json"), text: `${testFileSchema()}\n` },
  ]
}
