// `millrace pipelines validate`: which files, and where the report goes.
import { writeFileSync } from "node:fs"
import { type Command, Option } from "commander"
import { CommandProblem } from "../operations/problem.ts"
import { print, type Terminal } from "../terminal.ts"
import type { CommandContext } from "./command-context.ts"
import { openCompiler } from "./compiler.ts"
import { findFiles, tellPassedOver } from "./files.ts"
import { type FindingFormat, findingFormats, formatFindings } from "./finding-formats.ts"
import { validateFiles } from "./validate.ts"

export function addValidate(group: Command, { config, root, terminal, end }: CommandContext): void {
  group
    .command("validate")
    .description("Compile pipeline files and report everything that is wrong with them; needs no service.")
    .argument("[files...]", "files or folders; the configured folders where none is named")
    .addOption(new Option("--format <format>", "how to report").choices(findingFormats).default("text"))
    .option("--output <file>", "write the report there instead of printing it")
    .action(async (given: string[], options: { format: FindingFormat; output?: string }) => {
      const settings = config()
      const wanted = { given, configured: settings.pipelines.paths, kind: "pipeline" } as const
      tellPassedOver(wanted, terminal)
      const files = findFiles(wanted)
      if (files.length === 0) throw new CommandProblem(`There are no pipeline files in ${wanted.configured.join(", ")}.`, 2)
      const compiler = await openCompiler({ config: settings, root, env: terminal.env })
      try {
        const checked = await validateFiles(files, compiler)
        report(formatFindings(checked, options.format), options.output, terminal)
        end(checked.every((file) => file.ok) ? 0 : 1)
      } finally {
        await compiler.stop()
      }
    })
}

function report(text: string, file: string | undefined, terminal: Terminal): void {
  try {
    if (file === undefined) print(terminal, text)
    else writeFileSync(file, `${text}\n`)
  } catch (error) {
    throw new CommandProblem(`The report cannot be written to ${file}: ${(error as Error).message}`, 2)
  }
}
