// `npm run check:promises [FOLDER...]`: reports each dropped promise. Its rejection would end the process.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { API } from "typescript/unstable/sync"
import { projectRoot } from "../import-graph.ts"
import { findDropped } from "./rules.ts"

const product = ["build", "client", "core", "plugins", "templates"]

/** Returns true if oxlint has no findings. */
function lint(folders: readonly string[]): boolean {
  const args = ["--type-aware", "--config", join(import.meta.dirname, "oxlint.json"), "--format", "unix", ...folders]
  const { status, error } = spawnSync(join(projectRoot, "node_modules/.bin/oxlint"), args, { stdio: "inherit" })
  if (error) throw error
  return status === 0
}

/** Prints the findings of this folder's rules in the projects of the folders. Returns true without findings. */
function search(folders: readonly string[], configs: readonly string[]): boolean {
  const api = new API({ cwd: projectRoot })
  try {
    const projects = api.updateSnapshot({ openProjects: [...configs] }).getProjects()
    const names = new Set<string>()
    let count = 0
    for (const { rootFiles, program, checker } of projects) {
      for (const path of rootFiles) {
        const isAsked = folders.some((folder) => path.startsWith(`${folder}/`))
        const file = isAsked && !names.has(path) ? program.getSourceFile(path) : undefined
        if (!file) continue
        names.add(path)
        for (const { line, message } of findDropped(file, checker)) {
          console.log(`${relative(process.cwd(), path)}:${line}: ${message}`)
          count++
        }
      }
    }
    if (names.size === 0) throw new Error(`No TypeScript project has files in ${folders.join(", ")}.`)
    return count === 0
  } finally {
    api.close()
  }
}

const patterns = process.argv.slice(2)
const folders = (patterns.length > 0 ? patterns : product.map((name) => join(projectRoot, name))).map((path) => resolve(path))
const own = folders.map((folder) => join(folder, "tsconfig.json")).filter((path) => existsSync(path))
const configs =
  patterns.length > 0 && own.length > 0
    ? own
    : ["tsconfig.json", "plugins/console/app/tsconfig.json"].map((path) => join(projectRoot, path))
const isClean = [lint(folders), search(folders, configs)].every(Boolean)
process.exitCode = isClean ? 0 : 1
