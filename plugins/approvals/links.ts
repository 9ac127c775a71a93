// Where people read and decide what waits. The API's own address, unless a plugin that shows approvals says where.
import { type PublicUrl, token } from "#core"

/** The address of an approval's page; of the list of what waits, without an id. */
export type ApprovalLink = (approvalId?: string) => string

export interface ApprovalLinks {
  /** To be called while services are created; the last one counts. */
  use(link: ApprovalLink): void
  of: ApprovalLink
}

export const ApprovalLinks = token<ApprovalLinks>("ApprovalLinks")

export function createApprovalLinks({ publicUrl }: { readonly publicUrl: PublicUrl }): ApprovalLinks {
  let link: ApprovalLink = (id) => `${publicUrl()}/v1/approvals${id === undefined ? "?state=pending" : `/${id}`}`
  return {
    use: (own) => {
      link = own
    },
    of: (id) => link(id),
  }
}
