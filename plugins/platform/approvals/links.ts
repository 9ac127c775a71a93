// The pages that mails about approvals link to: of the console, or the API itself.
import { defineExtensionPoint, type PublicUrl } from "#core"

/** Returns the address of an approval's page. Without an id: of the list of pending approvals. */
export type ApprovalLink = (approvalId?: string) => string

/** The last item counts. Without an item mails link to the API. */
export const ApprovalLinks = defineExtensionPoint<ApprovalLink>({ id: "approvals.links" })

export function apiLink(publicUrl: PublicUrl): ApprovalLink {
  return (id) => `${publicUrl()}/v1/approvals${id === undefined ? "?state=pending" : `/${id}`}`
}
