// The action `dataset.write`, as a plugin.
import { z } from "zod"
import { definePlugin } from "#core"
import { datasetWrite } from "./dataset-write.ts"
import { reasons } from "./reasons.ts"

export default definePlugin({
  id: "action-dataset-write",
  reasons,
  needs: ["datasets"],
  config: z.strictObject({}),
  register: (reg) => reg.actions(datasetWrite),
})
