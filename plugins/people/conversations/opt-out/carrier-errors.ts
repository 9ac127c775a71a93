// Errors by which a provider says that the person does not want to be written to.
import type { Channel } from "../channels.ts"

const codes: Readonly<Record<Channel, ReadonlySet<string>>> = {
  // "User has stopped receiving marketing messages", of Meta's Cloud API.
  chat_app: new Set(["131050"]),
  // "Attempt to send to unsubscribed recipient", of Twilio.
  sms: new Set(["21610"]),
}

export function isCarrierOptOut(channel: Channel, code: string | undefined): boolean {
  return code !== undefined && codes[channel].has(code)
}
