// The public address of opt-out links. GET shows a confirmation page, POST records the opt-out.
import { Clock, defineRoute, html, type RouteRequest, timestamp, UnitsOfWork } from "#core"
import { Organizations } from "../../../platform/organizations/index.ts"
import { confirmation, linkPage, unknownPage } from "../../suppressions/index.ts"
import type { Channel } from "../channels.ts"
import { OptOuts } from "./ledger.ts"
import { OptOutLinks, optOutPath } from "./link.ts"

const names: Readonly<Record<Channel, string>> = { chat_app: "WhatsApp messages", sms: "text messages" }
const inject = { links: OptOutLinks, organizations: Organizations }
const answers = {
  "200": { description: "The page.", type: "text/html" },
  "404": { description: "The link is not one of this service.", type: "text/html" },
}
const path = { token: "As the message has it." }

async function told({ params }: RouteRequest, { links, organizations }: { links: OptOutLinks; organizations: Organizations }) {
  const link = await links.read(params["token"] ?? "")
  const organization = link && (await organizations.byId(link.organization))
  return organization && { ...link, sender: organization.name }
}

export const askToOptOut = defineRoute({
  name: "conversations.ask_to_opt_out",
  summary: "The opt-out link of a message, as a page.",
  method: "GET",
  path: optOutPath,
  whilePaused: "People opt out at any time.",
  inject,
  document: { description: "Changes nothing; its button posts to the same address.", path, answers },
  async handle({ request, deps }) {
    const found = await told(request, deps)
    if (!found) return unknownPage()
    const { address, channel, sender } = found
    return linkPage(200, "Opt out?", html`<p>${address} gets no more ${names[channel]} from ${sender}.</p>${confirmation("Opt out")}`)
  },
})

export const optOutByLink = defineRoute({
  name: "conversations.opt_out_by_link",
  summary: "Opt a person out of a channel by the link in a message.",
  method: "POST",
  path: optOutPath,
  whilePaused: "People opt out at any time.",
  maxBodyBytes: 16_384,
  inject: { ...inject, optOuts: OptOuts, work: UnitsOfWork, clock: Clock },
  document: {
    description: "The link alone decides; a repeated post changes nothing.",
    path,
    body: {
      description: "Not read.",
      content: { "application/x-www-form-urlencoded": { schema: { type: "object", additionalProperties: true } } },
    },
    answers,
  },
  async handle({ request, deps: { optOuts, work, clock, ...deps } }) {
    const found = await told(request, deps)
    if (!found) return unknownPage()
    const { organization, channel, address, messageId: message_id, sender } = found
    const { suppressed } = await optOuts.standing(organization, channel, address)
    if (!suppressed) {
      const at = timestamp(clock.now())
      const evidence = { source: "link", message_id, wording: "Confirmed on the page of the opt-out link.", recorded_by: null } as const
      const entry = { address, kind: "opt_out", at, identity: `link ${address} ${at}`, ...evidence } as const
      await work.run((staged) => optOuts.stage(staged, organization, channel, entry))
    }
    const back = "Write START to get them again."
    return linkPage(200, "You are opted out", html`<p>${address} gets no more ${names[channel]} from ${sender}. ${back}</p>`)
  },
})
