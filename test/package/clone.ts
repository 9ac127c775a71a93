// A copy of the repository as a fresh clone has it after `npm ci`, so that what builds, packs and makes files does so
// beside everything else that runs here.
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { projectRoot } from "../import-graph.ts"

const copied = [
  ".mocharc.yaml",
  "biome.json",
  "build",
  "client",
  "config",
  "core",
  "docs",
  "entry-points",
  "knip.jsonc",
  "LICENSE",
  "package.json",
  "pipelines",
  "plugins",
  "README.md",
  "templates",
  "test",
  "tsconfig.json",
]

export interface Clone {
  /** Holds `millrace`, the copy, and room for more. */
  readonly folder: string
  readonly root: string
  remove(): void
}

export function clone(): Clone {
  const folder = mkdtempSync(join(tmpdir(), "millrace-clone-"))
  const root = join(folder, "millrace")
  for (const path of copied) cpSync(join(projectRoot, path), join(root, path), { recursive: true })
  symlinkSync(join(projectRoot, "node_modules"), join(root, "node_modules"))
  return { folder, root, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
