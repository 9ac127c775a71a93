// `millrace init DIR`: a new project with Millrace as a package. Contains a pipeline, an action type and their tests, ready for
// `npm install`.
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
  /** A new or empty folder. */
  readonly folder: string
  /** The project's dependency on Millrace as in package.json, or a path. Default: this version. */
  readonly dependency?: string | undefined
  readonly terminal: Terminal
}

/** Files with a meaning for package managers or git, even in a template. */
const dotted = new Set(["gitignore", "mocharc.yaml"])

/** Throws BootError if the folder is not empty or no package can be built. */
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

/** Creates a missing folder. `shown`: its name in messages. */
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

/** Shared dependencies use the framework's versions. */
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

// The dependency of a new project: the creating version; in a clone, a package built from the clone and stored in the project; or
// the passed dependency.

/** Returns the dependency for a package.json in `folder`. Throws BootError if the package cannot be built. */
function dependencySpec(folder: string, given: string | undefined, terminal: Terminal): string {
  if (given !== undefined) return existsSync(given) ? `file:${resolve(given)}` : given
  if (!frameworkIsSource) return `^${ownManifest().version}`
  print(terminal, `packing ${frameworkRoot} into ${folder}`)
  const options = { cwd: frameworkRoot, encoding: "utf8", shell: process.platform === "win32" } as const
  const { status, stdout, stderr, error } = spawnSync("npm", ["pack", "--json", "--loglevel=error", "--pack-destination", folder], options)
  if (status !== 0) throw new BootError([`The package could not be made of ${frameworkRoot}: ${error?.message ?? stderr.trim()}`])
  // Output of scripts comes before the answer.
  const file = /"filename": "([^"]+\.tgz)"/.exec(stdout)?.[1]
  if (file === undefined) throw new BootError([`npm pack named no file; it said: ${stdout.trim()}`])
  return `file:${file}`
}
