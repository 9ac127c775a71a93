// Mail sent by the service: a standard look, content from the caller, delivery through SMTP or into files.
import { join } from "node:path"
import { z } from "zod"
import { Clock, definePlugin, Settings, Store, UnitsOfWork } from "#core"
import { Destinations, importedAtStart, Outgoing } from "#core/engine"
import { OneMailAddress, parseAddresses } from "./addresses.ts"
import { MailGuards } from "./guards.ts"
import { createMailer, Mailer } from "./mailer.ts"
import { outboxTransport } from "./outbox.ts"
import { PartialDeliveryCollection, resuming } from "./partial-delivery.ts"
import { reasons } from "./reasons.ts"
import { createSenders, SenderChoices, Senders } from "./senders.ts"
import { smtpTransport } from "./smtp.ts"
import { capturedTransport } from "./transport.ts"

export { domainOf, isMailAddress, MailAddressList, normalAddress, OneMailAddress, parseAddresses, visibleText } from "./addresses.ts"
export { type LeavingMail, type MailCategory, type MailGuard, MailGuards, type Refusal } from "./guards.ts"
export { Mailer } from "./mailer.ts"
export { buttonUrl, type MailContent, renderMail } from "./render.ts"
export { type ChooseSender, SenderChoices, Senders } from "./senders.ts"
export { ownHeader } from "./transport.ts"

const EmailConfig = z
  .strictObject({
    transport: z.enum(["outbox", "smtp"]).default("outbox").describe("`outbox` writes .eml files under <data_dir>/outbox."),
    url: z
      .string()
      .regex(/^smtps?:\/\/[^\s]+$/, "an SMTP URL such as smtps://user:password@mail.example.com:465")
      .refine((url) => URL.canParse(url), "an SMTP URL such as smtps://user:password@mail.example.com:465")
      .optional()
      .describe("SMTP server of `smtp`, with credentials."),
    max_connections: z
      .int()
      .min(2)
      .max(1_000)
      .default(48)
      .describe("Connections to the SMTP server at once for one organization; twice as many in all."),
    from: OneMailAddress.default("Millrace <no-reply@millrace.localhost>").describe(
      "Sender for organizations without a sender of their own.",
    ),
    reply_to: OneMailAddress.optional(),
    footer: z.string().trim().min(1).max(200).default("Sent by Millrace").describe("Last line of every message."),
  })
  .refine((config) => config.transport !== "smtp" || config.url !== undefined, { path: ["url"], message: "needed when transport is smtp" })

export default definePlugin({
  id: "email",
  reasons,
  config: EmailConfig,
  // Imported here only. A running service needs no MJML.
  async generates() {
    const { generatedFile, generateParts } = await import("./template/build.ts")
    return [{ file: generatedFile, text: await generateParts() }]
  },
  extensionPoints: [MailGuards, SenderChoices],
  register(registrar, config) {
    const [from] = parseAddresses(config.from, "from")
    if (!from) throw new Error(`plugins.settings.email.from: "${config.from}" holds no address.`)
    const replyTo = config.reply_to === undefined ? {} : { reply_to: parseAddresses(config.reply_to, "reply_to") }
    registrar.run(
      "library",
      importedAtStart(() => import("nodemailer")),
    )
    registrar.provide(Senders, {
      inject: { choices: SenderChoices },
      create: ({ choices }) => createSenders({ from, ...replyTo }, choices),
    })
    registrar.collections(PartialDeliveryCollection)
    registrar.provide(Mailer, {
      inject: {
        settings: Settings,
        senders: Senders,
        outgoing: Outgoing,
        guards: MailGuards,
        store: Store,
        work: UnitsOfWork,
        clock: Clock,
        destinations: Destinations,
      },
      create({ settings, senders, outgoing, guards, destinations, ...kept }) {
        if (outgoing.capture) return createMailer(senders, capturedTransport(outgoing.capture), config.footer, guards)
        const transport =
          config.transport === "smtp" && config.url !== undefined
            ? resuming(smtpTransport(config.url, { clock: kept.clock, maxConnections: config.max_connections, destinations }), kept)
            : outboxTransport(join(settings.data_dir, "outbox"))
        return createMailer(senders, transport, config.footer, guards)
      },
      stop: (mailer) => mailer.close(),
    })
  },
})
