// Restricts other calls through a number's connection to reads. Pipelines and agents cannot bypass the gate.
import { AppError, type Store } from "#core"
import type { CallGuard } from "../../../agents/integrations/index.ts"
import { PhoneNumberResource } from "../numbers/phone-number.ts"

type Request = Parameters<CallGuard>[0]["request"]

export function lineGuard(store: Store): CallGuard {
  return async ({ organization, connection: { id, slug }, request }) => {
    if (isRead(request)) return undefined
    const numbers = store.open(PhoneNumberResource.collection, organization)
    const named = { $in: [id, slug] }
    const [chat, sms] = await Promise.all([numbers.first({ "chat_app.integration": named }), numbers.first({ "sms.integration": named })])
    const number = chat ?? sms
    if (!number) return undefined
    const message = `Messages of ${number.number} leave through the integration "${slug}", so that other calls through it only read; send by POST /v1/voice/messages.`
    return new AppError("failed_precondition", message, { reason: "connection_of_number", retryable: false })
  }
}

/** Returns false for a GET with a method override, as Meta's API accepts. */
function isRead({ method, query = {}, headers = {} }: Request): boolean {
  const names = [...Object.keys(query), ...Object.keys(headers)].map((name) => name.toLowerCase())
  return ["GET", "HEAD"].includes(method.toUpperCase()) && !names.some((name) => name === "method" || /^x-(?:http-)?method/.test(name))
}
