// `millrace pipelines …`: the commands of people who keep pipelines in a repository.
import { writeFileSync } from "node:fs"
import { type Command, Option } from "commander"
import type { CommandContext } from "./command-context.ts"
import { openCompiler } from "./compiler.ts"
import { findFiles } from "./files.ts"
import { type FindingFormat, findingFormats, formatFindings } from "./finding-formats.ts"
import { addGraph } from "./graph/command.ts"
import { addListen } from "./listen.ts"
import { addApply, addPlan } from "./plan/command.ts"
import { addRun } from "./run/command.ts"
import { addTail } from "./tail.ts"
import { addTest } from "./test/command.ts"
import { validateFiles } from "./validate.ts"

export function addPipelineCommands(program: Command, context: CommandContext): void {
  const group = program
    .command("pipelines")
    .description("Pipelines as code: check, test, try, plan, apply, watch.")
    .showSuggestionAfterError()
  addValidate(group, context)
  addTest(group, context)
  addRun(group, context)
  addGraph(group, context)
  addPlan(group, context)
  addApply(group, context)
  addTail(group, context)
  addListen(group, context)
}

function addValidate(group: Command, { config, root, end }: CommandContext): void {
  group
    .command("validate")
    .description("Compile pipeline files and report everything that is wrong with them; needs no service.")
    .argument("[files...]", "files or folders; the configured folders where none is named")
    .addOption(new Option("--format <format>", "how to report").choices(findingFormats).default("text"))
    .option("--output <file>", "write the report there instead of printing it")
    .action(async (given: string[], options: { format: FindingFormat; output?: string }) => {
      const settings = config()
      const files = findFiles({ given, configured: settings.pipelines.paths, kind: "pipeline" })
      const compiler = await openCompiler({ config: settings, root })
      try {
        const checked = await validateFiles(files, compiler)
        const report = formatFindings(checked, options.format)
        if (options.output === undefined) console.log(report)
        else writeFileSync(options.output, `${report}\n`)
        end(checked.every((file) => file.ok) ? 0 : 1)
      } finally {
        await compiler.stop()
      }
    })
}
