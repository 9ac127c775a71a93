// The live channel of approvals.
import { defineChannel } from "#core"

export const approvalsChannel = defineChannel({
  name: "approvals",
  scope: "approvals:read",
  summary: "Approvals as they are filed, decided, expire and are carried out.",
})
