// The past of items: deleted items in the trash, and the versions of each item. The core stores both with each change.
import { z } from "zod"
import { definePlugin } from "#core"
import { reasons } from "./reasons.ts"
import { getTrash, listTrash, restoreFromTrash } from "./trash.ts"
import { listVersions, restoreVersion } from "./versions.ts"

export default definePlugin({
  id: "history",
  reasons,
  needs: [],
  config: z.strictObject({}),
  register: (registrar) => registrar.operations(listTrash, getTrash, restoreFromTrash, listVersions, restoreVersion),
})
