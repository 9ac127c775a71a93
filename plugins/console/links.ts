// Addresses in the console that other plugins send people to.
import type { PublicUrl } from "#core"
import type { ConnectionLink } from "../agents/integrations/index.ts"
import type { ApprovalLink } from "../platform/approvals/index.ts"

export function approvalLink(publicUrl: PublicUrl): ApprovalLink {
  return (id) => `${publicUrl()}/console/approvals${id === undefined ? "" : `/${encodeURIComponent(id)}`}`
}

export function connectionLink(publicUrl: PublicUrl): ConnectionLink {
  return (id) => `${publicUrl()}/console/integrations/${encodeURIComponent(id)}`
}
