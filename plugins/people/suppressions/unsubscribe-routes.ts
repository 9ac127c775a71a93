// The public address of unsubscribe links. GET shows a confirmation page, POST unsubscribes at once (RFC 8058).
import { type Deps, defineRoute, type RouteRequest, UnitsOfWork } from "#core"
import { Organizations } from "../../platform/organizations/index.ts"
import { MailKeys } from "./keys.ts"
import { askingPage, donePage, unknownPage } from "./link-page.ts"
import { readUnsubscribeToken, unsubscribePath } from "./sealed-link.ts"
import { Suppressions } from "./suppressions.ts"

const inject = { keys: MailKeys, organizations: Organizations }
const answers = {
  "200": { description: "The page.", type: "text/html" },
  "404": { description: "The link is not one of this service.", type: "text/html" },
}
const path = { token: "As the message has it." }

async function told({ params }: RouteRequest, { keys, organizations }: Deps<typeof inject>) {
  const unsubscription = await readUnsubscribeToken(keys, params["token"] ?? "")
  const organization = unsubscription && (await organizations.byId(unsubscription.organization))
  return organization && { ...unsubscription, sender: organization.name }
}

export const askToUnsubscribe = defineRoute({
  name: "suppressions.ask_to_unsubscribe",
  summary: "The unsubscribe link of a marketing message, as a page.",
  method: "GET",
  path: unsubscribePath,
  whilePaused: "People opt out at any time.",
  inject,
  document: { description: "Changes nothing; its button posts to the same address.", path, answers },
  async handle({ request, deps }) {
    const found = await told(request, deps)
    return found ? askingPage(found.sender, found.address) : unknownPage()
  },
})

export const unsubscribe = defineRoute({
  name: "suppressions.unsubscribe",
  summary: "Unsubscribe the recipient of a marketing message.",
  method: "POST",
  path: unsubscribePath,
  whilePaused: "People opt out at any time.",
  maxBodyBytes: 16_384,
  inject: { ...inject, suppressions: Suppressions, work: UnitsOfWork },
  document: {
    description:
      "One click (RFC 8058): mailbox providers post here for their users. The link alone decides; a repeated post changes nothing.",
    path,
    body: {
      description: "`List-Unsubscribe=One-Click`; kept as evidence, not required.",
      content: { "application/x-www-form-urlencoded": { schema: { type: "object", additionalProperties: true } } },
    },
    answers,
  },
  async handle({ request, deps }) {
    const found = await told(request, deps)
    if (!found) return unknownPage()
    const { organization, address, messageId, sender } = found
    const oneClick = Buffer.from(await request.body())
      .toString("latin1")
      .includes("One-Click")
    const report = oneClick ? "One-click unsubscription (RFC 8058)." : "Confirmed on the page of the link."
    const evidence = { message_id: messageId, report }
    await deps.work.run((work) => deps.suppressions.add(work, organization, { address, reason: "unsubscribe", source: "link", evidence }))
    return donePage(sender, address)
  },
})
