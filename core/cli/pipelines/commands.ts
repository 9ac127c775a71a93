// `millrace pipelines …`: the commands of people who keep pipelines in a repository.
import type { Command } from "commander"
import type { CommandContext } from "./command-context.ts"
import { addGraph } from "./graph/command.ts"
import { addListen } from "./listen.ts"
import { addApply, addPlan } from "./plan/command.ts"
import { addRun } from "./run/command.ts"
import { addTail } from "./tail.ts"
import { addTest } from "./test/command.ts"
import { addValidate } from "./validate-command.ts"

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
