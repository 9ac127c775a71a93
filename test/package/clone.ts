// Copies the repository in the state of a fresh clone after `npm ci`. Builds and packs in the copy do not disturb other work
// here.
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
  /** Contains `millrace`, the copy, and free space. */
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
