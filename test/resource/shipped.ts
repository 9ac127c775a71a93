// The resources of the shipped plugins, available before any service starts.
import { join } from "node:path"
import { frameworkRoot, loadDeclarations } from "../../core/bootstrap/plugins.ts"
import { Resources } from "../../core/contract/resource.ts"
import { loadConfig } from "../../core/kernel/config.ts"

const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: {} })

export const shippedResources = (await loadDeclarations({ config, root: frameworkRoot })).registry.items(Resources)
