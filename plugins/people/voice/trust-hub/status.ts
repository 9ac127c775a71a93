// Maps Trust Hub's status of a trust product to a registration status.
import type { Json } from "#core"
import type { Reason, RegistrationStatus } from "../collections.ts"
import { type Fields, HubUnavailable, isFields, textOf } from "./client.ts"

const meanings: Readonly<Record<string, RegistrationStatus>> = {
  "pending-review": "submitted",
  "in-review": "in_review",
  "twilio-approved": "active",
  "twilio-rejected": "rejected",
}

export function statusOf(product: Fields): { status: RegistrationStatus; reasons: Reason[] } {
  const said = textOf(product["status"])
  const status = Object.hasOwn(meanings, said) ? meanings[said] : undefined
  if (status === undefined) throw new HubUnavailable(`Trust Hub says that the registration is ${JSON.stringify(said.slice(0, 40))}.`)
  return { status, reasons: status === "rejected" ? reasonsOf(product["errors"]) : [] }
}

/** Converts Twilio's error list. Its items are codes, or objects with a code and a message. */
function reasonsOf(errors: Json | undefined): Reason[] {
  const reasons = (Array.isArray(errors) ? errors : []).map((error) => {
    if (!isFields(error)) return { code: textOf(error), message: `Twilio's error ${textOf(error)}.` }
    return { code: textOf(error["code"]), message: textOf(error["message"] ?? error["detail"] ?? error["reason"]) }
  })
  return reasons.length > 0 ? reasons.slice(0, 50) : [{ code: "twilio-rejected", message: "Twilio gave no reason." }]
}
