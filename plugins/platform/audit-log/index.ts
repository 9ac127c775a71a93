// Reads the audit log. The core writes the records, in the commit of each call with changes.
import { z } from "zod"
import { definePlugin } from "#core"
import { listAuditLog } from "./list.ts"

export default definePlugin({
  id: "audit-log",
  needs: [],
  config: z.strictObject({}),
  register: (registrar) => registrar.operations(listAuditLog),
})
