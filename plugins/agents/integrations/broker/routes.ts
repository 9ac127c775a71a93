// Routes for a grant at the connection broker: the start page, and the return link. A broker's page does not redirect back.
import { AppError, defineRoute, PublicUrl } from "#core"
import { ConnectionLinks } from "../connection-links.ts"
import { UnknownAuthorization } from "../oauth/authorization.ts"
import { askingPage, ended, messagePage } from "../oauth/pages.ts"
import { BrokerToken, brokerPath } from "./broker.ts"

const invalid = "This link is not valid any more. Connect the app again for a new one."
const down = "The connection broker cannot be used now. Open the link again later."

export const brokerConnect = defineRoute({
  name: "integrations.broker_connect",
  summary: "Begin an authorization at the connection broker, that integrations.connect answered as connect_url.",
  method: "GET",
  path: `${brokerPath}/connect`,
  whilePaused: "Asks Pauses once the ticket names the organization.",
  inject: { broker: BrokerToken, publicUrl: PublicUrl },
  document: {
    description: "Shows which organization asks for access, with a link to the connection broker, and one to come back by.",
    query: { ticket: "As in connect_url; valid for ten minutes." },
    answers: {
      "200": { description: "What is asked for, and by whom.", type: "text/html" },
      "400": { description: "The link is not valid.", type: "text/html" },
      "502": { description: "The broker failed.", type: "text/html" },
    },
  },
  async handle({ request, deps }) {
    const ticket = request.query.get("ticket") ?? ""
    try {
      return askingPage(await deps.broker.open(ticket), { done: `${deps.publicUrl()}${brokerPath}/done?ticket=${ticket}` })
    } catch (error) {
      return refusal(error, request.log.warn.bind(request.log))
    }
  },
})

export const brokerDone = defineRoute({
  name: "integrations.broker_done",
  summary: "End an authorization at the connection broker.",
  method: "GET",
  path: `${brokerPath}/done`,
  whilePaused: "Asks Pauses once the ticket names the organization.",
  inject: { broker: BrokerToken, links: ConnectionLinks },
  document: {
    description:
      "Connects the integration where the broker lists what was granted, and sends the browser to `return_url` with `status` and `integration_id` added; without a `return_url`, to the connection in the console.",
    query: { ticket: "As in connect_url." },
    answers: {
      "200": { description: "The app is connected.", type: "text/html" },
      "303": { description: "To the return_url of the authorization, or to the connection in the console." },
      "400": { description: "The link is not valid, or access was not granted.", type: "text/html" },
      "502": { description: "The broker failed.", type: "text/html" },
    },
  },
  async handle({ request, deps }) {
    try {
      const { ticket, connected } = await deps.broker.finish(request.query.get("ticket") ?? "")
      const text = `${ticket.app} is connected. You can close this window.`
      if (connected) return ended(ticket, deps.links, { status: 200, result: { status: "connected" }, text })
      return messagePage(400, `Access to ${ticket.app} was not granted yet. Go back, and grant it first.`)
    } catch (error) {
      return refusal(error, request.log.warn.bind(request.log))
    }
  },
})

function refusal(error: unknown, warn: (about: object, message: string) => void) {
  if (error instanceof UnknownAuthorization) return messagePage(400, invalid)
  if (!(error instanceof AppError)) throw error
  warn({ err: error }, "the connection broker failed")
  return messagePage(502, down)
}
