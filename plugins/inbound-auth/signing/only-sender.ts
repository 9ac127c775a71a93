// The refusal of what only the sender can sign.
import { AppError } from "#core"

export function onlySender(cause: string): AppError {
  const message = `A request of this sender cannot be signed here: ${cause}. Give captured headers.`
  return new AppError("unimplemented", message, { reason: "cannot_sign" })
}
