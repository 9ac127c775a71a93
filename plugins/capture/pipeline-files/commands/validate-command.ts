// `millrace pipelines validate`: which files, and where the report goes.
import { writeFileSync } from "node:fs"
import { CommandProblem } from "#core"
import { openCompiler, print, type Terminal } from "#core/commands"
import type { CommandContext } from "#core/engine"
import { findFiles, tellPassedOver } from "./files.ts"
import { type FindingFormat, formatFindings } from "./finding-formats.ts"
import { validateFiles } from "./validate.ts"

export async function validate(
  options: { format: FindingFormat; output?: string },
  { args: given, config, root, terminal, end }: CommandContext,
): Promise<undefined> {
  const settings = config()
  const wanted = { given, configured: settings.pipelines.paths, kind: "pipeline" } as const
  tellPassedOver(wanted, terminal)
  const files = findFiles(wanted)
  if (files.length === 0) throw new CommandProblem(`No pipeline files are in ${wanted.configured.join(", ")}.`, 2)
  const compiler = await openCompiler({ config: settings, root, env: terminal.env })
  try {
    const checked = await validateFiles(files, compiler)
    report(formatFindings(checked, options.format), options.output, terminal)
    end(checked.every((file) => file.ok) ? 0 : 1)
  } finally {
    await compiler.stop()
  }
}

function report(text: string, file: string | undefined, terminal: Terminal): void {
  try {
    if (file === undefined) print(terminal, text)
    else writeFileSync(file, `${text}\n`)
  } catch (error) {
    throw new CommandProblem(`The report cannot be written to ${file}: ${(error as Error).message}`, 2)
  }
}
