// `millrace init DIR`: a project of one's own that uses Millrace as a package, with a pipeline, an action type and their
// tests, ready for `npm install`.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { frameworkIsSource, frameworkRoot } from "../../bootstrap/plugins.ts"
import { slugOf } from "../../contract/fields.ts"
import { BootError } from "../../kernel/config.ts"
import { print, type Terminal } from "../../kernel/terminal.ts"
import { named } from "./kinds.ts"
import { importsOf, type Manifest, ownManifest, type TemplateFile, templateFiles, writeNew } from "./project.ts"

export interface InitArgs {
  /** New, or empty. */
  readonly folder: string
  /** What the project depends on, as package.json says it, or a path; absent: this version. */
  readonly dependency?: string | undefined
  readonly terminal: Terminal
}

/** Files that package managers or git would take for their own in a template. */
const dotted = new Set(["gitignore", "mocharc.yaml"])

/** Throws BootError where the folder holds something already, or no package can be made. */
export function makeProject({ folder, dependency, terminal }: InitArgs): string[] {
  const target = resolve(folder)
  const name = slugOf(basename(target), "project")
  if (name === "millrace") throw new BootError([`"${basename(target)}" cannot be a project's name; choose another folder.`])
  openEmpty(target, folder)
  const spec = dependencySpec(target, dependency, terminal)
  const files = templateFiles("project").map((file) => placed(file, name, target))
  writeNew(target, files)
  writeFileSync(join(target, "package.json"), `${JSON.stringify(manifest(name, spec, ownManifest()), null, 2)}\n`)
  return [...files.map(({ path }) => path), "package.json"].sort()
}

/** Makes the folder where there is none; `shown` is how it is named to a person. */
function openEmpty(folder: string, shown: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException
    const why = ["ENOTDIR", "EEXIST"].includes(code) ? "there is a file in its place, or above it" : message
    throw new BootError([`The folder ${shown} cannot be created: ${why}.`])
  }
  if (readdirSync(folder).length > 0)
    throw new BootError([`${shown} is not empty: a project is created in a new folder. To add to a project, use \`millrace new\` in it.`])
}

function placed({ path, text }: TemplateFile, name: string, folder: string): TemplateFile {
  return { path: dotted.has(path) ? `.${path}` : path, text: importsOf({ folder, isFramework: false }, named(text, name)) }
}

/** What the project shares with the framework comes in the framework's versions. */
function manifest(name: string, spec: string, { dependencies, devDependencies, engines, allowScripts }: Manifest): object {
  const own = { ...dependencies, ...devDependencies }
  const picked = (...names: string[]) => Object.fromEntries(names.map((one) => [one, own[one]]))
  return {
    name,
    version: "0.1.0",
    private: true,
    type: "module",
    engines,
    scripts: {
      start: "millrace start",
      dev: "millrace dev",
      test: "npm run check",
      check: 'tsc && millrace pipelines validate && millrace pipelines test && mocha --forbid-only "test/**/*.test.ts"',
      schema: "millrace schema --into config",
      prepare: "npm run schema",
    },
    dependencies: { millrace: spec, ...picked("node", "zod") },
    devDependencies: picked("@types/chai", "@types/mocha", "@types/node", "chai", "mocha", "typescript"),
    allowScripts,
  }
}

// What a new project depends on: the version that makes it; from a clone, the package made of the clone, put into the
// project; or the given dependency.

/** As it stands in a package.json in `folder`. Throws BootError when the package cannot be made. */
function dependencySpec(folder: string, given: string | undefined, terminal: Terminal): string {
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
