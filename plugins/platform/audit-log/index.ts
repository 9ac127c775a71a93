// Reading the audit log. Its records are written by the core, in the commit of each call that changes something.
import { z } from "zod"
import { definePlugin } from "#core"
import { listAuditLog } from "./list.ts"

export default definePlugin({
  id: "audit-log",
  needs: [],
  config: z.strictObject({}),
  register: (registrar) => registrar.operations(listAuditLog),
})
