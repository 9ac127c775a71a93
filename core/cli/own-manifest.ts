// The framework's own package.json.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { frameworkRoot } from "../bootstrap/plugins.ts"

export interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly engines: Readonly<Record<string, string>>
  readonly allowScripts: Readonly<Record<string, boolean>>
}

export function ownManifest(): Manifest {
  return JSON.parse(readFileSync(join(frameworkRoot, "package.json"), "utf8")) as Manifest
}
