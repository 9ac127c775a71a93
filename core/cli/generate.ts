// `millrace generate`: writes outdated generated files, or lists them.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import type { Command } from "commander"
import { type Declarations, frameworkIsSource } from "../bootstrap/plugins.ts"
import { BootError } from "../kernel/config.ts"
import type { GeneratedFile } from "../kernel/plugin.ts"
import { print, printError, type Terminal } from "../kernel/terminal.ts"
import { schemaFiles } from "./generated-files.ts"
import { projectClient, projectClientMark } from "./project-client.ts"
import { projectAt } from "./scaffold/project.ts"

export interface GenerateContext {
  /** The working directory of the command. */
  readonly root: string
  readonly declarations: () => Promise<Declarations>
  /** Generated files of the framework's repository. */
  readonly shipped: () => Promise<GeneratedFile[]>
  readonly terminal: Terminal
  readonly end: (exitCode: number) => void
}

const clientFile = "client.ts"

export function addGenerate(program: Command, { root, declarations, shipped, terminal, end }: GenerateContext): void {
  const generate = program.command("generate").showSuggestionAfterError()
  const write = (files: readonly GeneratedFile[], check: boolean | undefined, again: string) =>
    end(check ? checkGenerated(files, terminal, again) : writeGenerated(files, terminal))
  generate
    .command("client")
    .description("Write a typed client of the service with the operations of your own plugins.")
    .option("--into <file>", "the file to write", clientFile)
    .option("--check", "write nothing; fail when it is not current")
    .action(async (_options: unknown, command: Command) => {
      const { into, check } = command.optsWithGlobals<{ into: string; check?: boolean }>()
      if (projectAt(root).isFramework)
        throw new BootError(["The client of this repository is client/index.ts, whose operations `npm run generate` writes."])
      const again = `npx millrace generate client${into === clientFile ? "" : ` --into ${into}`}`
      write([await projectClient(await declarations(), resolve(root, into))], check, again)
    })
  generate.description("Write generated files.")
  // Other generated files exist only in the framework's repository, not in a package.
  if (!frameworkIsSource) return
  generate
    .description("Write the generated files that are committed.")
    .option("--check", "write nothing; fail if a file is not current")
    .action(async ({ check }: { check?: boolean }) => write(await shipped(), check, "npm run generate"))
}

/** Generated files of a project: the schemas for its editor, and the client if the project has one. */
export async function projectFiles(declarations: Declarations, root: string): Promise<GeneratedFile[]> {
  const client = join(root, clientFile)
  const hasClient = existsSync(client) && readFileSync(client, "utf8").startsWith(projectClientMark)
  const files = schemaFiles(declarations.registry, join(root, "config"))
  return hasClient ? [...files, await projectClient(declarations, client)] : files
}

/** Returns the exit code. */
export function writeGenerated(files: readonly GeneratedFile[], terminal: Terminal): number {
  for (const { file, text } of files.filter(isStale)) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    print(terminal, `wrote ${shown(file)}`)
  }
  return 0
}

/** Returns the exit code: 1 if a file is missing or outdated. */
export function checkGenerated(files: readonly GeneratedFile[], terminal: Terminal, again = "npm run generate"): number {
  const stale = files.filter(isStale)
  for (const { file } of stale) printError(terminal, `${shown(file)} is ${existsSync(file) ? "not current" : "missing"}; run \`${again}\`.`)
  return stale.length === 0 ? 0 : 1
}

function isStale({ file, text }: GeneratedFile): boolean {
  return !existsSync(file) || readFileSync(file, "utf8") !== text
}

function shown(file: string): string {
  return relative(process.cwd(), file)
}
