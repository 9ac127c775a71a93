// The area sample_name: things of an organization that people make, list, read and remove.
import { z } from "zod"
import { definePlugin } from "#core"
import { Items } from "./collection.ts"
import { create, get, list, remove } from "./operations.ts"
import { reasons } from "./reasons.ts"

export default definePlugin({
  id: "sample-name",
  reasons,
  config: z.strictObject({}),
  register(registrar) {
    registrar.collections(Items)
    registrar.operations(create, list, get, remove)
  },
})
