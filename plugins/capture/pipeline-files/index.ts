// Pipelines from files: applies folders at start and on change, plans and applies documents, and provides the command `millrace
// pipelines`.

import { z } from "zod"
import { definePlugin } from "#core"
import { PlanNotes } from "./apply/plan.ts"
import { FilesAtBoot } from "./boot.ts"
import { pipelineCommands } from "./commands/commands.ts"
import { applyPipelines, planPipelines } from "./operations/applying.ts"
import { reasons } from "./reasons.ts"

export { type PlanNote, PlanNotes } from "./apply/plan.ts"

export default definePlugin({
  id: "pipeline-files",
  reasons,
  needs: ["organizations", "datasets", "event-pipelines"],
  config: z.strictObject({}),
  commands: pipelineCommands,
  extensionPoints: [PlanNotes],
  register(registrar) {
    registrar.run("pipeline files", {
      inject: FilesAtBoot.inject,
      create: (deps) => new FilesAtBoot(deps),
      start: (files) => files.start(),
      stop: (files) => files.stop(),
    })
    registrar.operations(planPipelines, applyPipelines)
  },
})
