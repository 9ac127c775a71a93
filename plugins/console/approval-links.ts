// Notices of what waits for approval lead to the console, where it is read and decided.
import type { PublicUrl } from "#core"
import type { ApprovalLink } from "../approvals/index.ts"

export function approvalLink(publicUrl: PublicUrl): ApprovalLink {
  return (id) => `${publicUrl()}/console/approvals${id === undefined ? "" : `/${encodeURIComponent(id)}`}`
}
