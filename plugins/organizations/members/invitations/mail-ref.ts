// The job that mails an invitation, as staged. `hash` is of the code in the sealed link.
import { z } from "zod"
import type { Sealed } from "#core"

export const invitationMailRef = {
  type: "organizations.invitation_mail",
  payload: z.object({ invitation_id: z.uuid(), hash: z.string(), sealed: z.custom<Sealed>() }),
}
