// Addresses in the console that other plugins send people to.
import type { PublicUrl } from "#core"
import type { ApprovalLink } from "../approvals/index.ts"
import type { ConnectionLink } from "../integrations/index.ts"

export function approvalLink(publicUrl: PublicUrl): ApprovalLink {
  return (id) => `${publicUrl()}/console/approvals${id === undefined ? "" : `/${encodeURIComponent(id)}`}`
}

export function connectionLink(publicUrl: PublicUrl): ConnectionLink {
  return (id) => `${publicUrl()}/console/integrations/${encodeURIComponent(id)}`
}
