// Folders that a child reads at its start.
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

const require = createRequire(import.meta.url)
const project = fileURLToPath(new URL("../../package.json", import.meta.url))

/** Paths that a child needs for its start: its own folder, the project's package.json and folders of packages. */
export function readableFolders(folder: URL, packages: readonly string[]): string[] {
  const resolved = packages.map((name) => require.resolve(name))
  const folders = resolved.map((path) => path.slice(0, path.lastIndexOf("node_modules") + "node_modules/".length))
  return [fileURLToPath(folder), project, ...new Set(folders)]
}
