// What a new project depends on: the version that makes it; from a clone, the package made of the clone, put into the
// project; or the given dependency.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { frameworkIsSource, frameworkRoot } from "../../bootstrap/plugins.ts"
import { BootError } from "../../kernel/config.ts"
import { print, type Terminal } from "../../kernel/terminal.ts"

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

/** As it stands in a package.json in `folder`. Throws BootError where there is no package to be had. */
export function dependencySpec(folder: string, given: string | undefined, terminal: Terminal): string {
  if (given !== undefined) return existsSync(given) ? `file:${resolve(given)}` : given
  if (!frameworkIsSource) return `^${ownManifest().version}`
  print(terminal, `packing ${frameworkRoot} into ${folder}`)
  const options = { cwd: frameworkRoot, encoding: "utf8", shell: process.platform === "win32" } as const
  const { status, stdout, stderr, error } = spawnSync("npm", ["pack", "--json", "--loglevel=error", "--pack-destination", folder], options)
  if (status !== 0) throw new BootError([`The package could not be made of ${frameworkRoot}: ${error?.message ?? stderr.trim()}`])
  // What scripts print comes before the answer.
  const file = /"filename": "([^"]+\.tgz)"/.exec(stdout)?.[1]
  if (file === undefined) throw new BootError([`npm pack named no file; it said: ${stdout.trim()}`])
  return `file:${file}`
}
