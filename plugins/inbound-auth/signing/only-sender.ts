// The refusal of what only the sender can sign.
import { AppError } from "#core"

export function onlySender(why: string): AppError {
  const message = `A request cannot be signed here as this sender does: ${why}. Give the headers as they were captured.`
  return new AppError("unimplemented", message, { reason: "cannot_sign" })
}
