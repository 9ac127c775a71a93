// The action type pipeline.send.
import { z } from "zod"
import { definePlugin } from "#core"
import { pipelineSend } from "./pipeline-send.ts"
import { reasons } from "./reasons.ts"

export default definePlugin({
  id: "action-pipeline-send",
  reasons,
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(pipelineSend),
})
