// The action type pipeline.send.

import { z } from "zod"
import { definePlugin } from "#core"
import { pipelineSend } from "./pipeline-send.ts"

export default definePlugin({
  id: "action-pipeline-send",
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(pipelineSend),
})
