// What a transport is handed: a finished message, addresses taken apart. Both transports build the MIME text alike.
import type { SendMailOptions } from "nodemailer"
import { AppError } from "#core"
import type { OutgoingCapture } from "#core/engine"
import type { MailAddress } from "./addresses.ts"
import type { Refusal } from "./guards.ts"
import type { Sender } from "./senders.ts"

export interface FinishedMail extends Pick<Sender, "dkim" | "envelope_from"> {
  /** Id of the organization that sends. */
  readonly organization?: string
  /** Who it goes to now, where others of the recipients have it already. */
  readonly envelope_to?: readonly string[]
  readonly from: MailAddress
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly bcc: readonly MailAddress[]
  readonly replyTo: readonly MailAddress[]
  readonly subject: string
  readonly html: string
  readonly text: string
  /** With angle brackets. */
  readonly messageId: string
  /** RFC 3339. */
  readonly at: string
  /** Where a POST unsubscribes the recipient at once. */
  readonly unsubscribeUrl?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly attached?: readonly AttachedFile[] | undefined
}

export interface AttachedFile {
  readonly filename: string
  readonly media_type: string
  readonly content: Uint8Array
}

/** On each message: what receives mail knows by it what the service itself has sent. */
export const ownHeader = "X-Millrace-Sent"

export interface Delivery {
  readonly accepted: readonly string[]
  /** Of recipients that the server would not take while it took others. */
  readonly refusals: readonly Refusal[]
}

/** A message that the server took for nobody, with what it said of single recipients. */
export class DeliveryFailed extends AppError {
  readonly refusals: readonly Refusal[]

  constructor(refusals: readonly Refusal[], ...error: ConstructorParameters<typeof AppError>) {
    super(...error)
    this.refusals = refusals
  }
}

export interface Transport {
  /** Messages become files; somebody else passes them on. */
  readonly isOutbox?: true
  /** Resolves when the message is somewhere that outlives this process. */
  deliver(mail: FinishedMail, signal: AbortSignal | undefined): Promise<Delivery>
  close(): Promise<void>
}

/** What is signed where it is there (RFC 6376 section 5.4.1), and what RFC 8058 section 4 adds. */
const signedHeaders =
  "From:Sender:Reply-To:Subject:Date:Message-ID:To:Cc:MIME-Version:Content-Type:Content-Transfer-Encoding:Auto-Submitted:List-Unsubscribe:List-Unsubscribe-Post"

/** RFC 2369, and RFC 8058 where the address is one of HTTPS. The address is not to be folded or encoded. */
function unsubscribeHeaders(url: string | undefined): Record<string, string | { prepared: boolean; value: string }> {
  if (url === undefined) return {}
  const oneClick = url.startsWith("https:") ? { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" } : {}
  return { "List-Unsubscribe": { prepared: true, value: `<${url}>` }, ...oneClick }
}

function oneLined(headers: FinishedMail["headers"] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")]))
}

/** `Auto-Submitted` (RFC 3834) keeps vacation responders from answering. */
export function asNodemailer(mail: FinishedMail): SendMailOptions {
  return {
    from: { ...mail.from },
    to: mail.to.map((address) => ({ ...address })),
    cc: mail.cc.map((address) => ({ ...address })),
    bcc: mail.bcc.map((address) => ({ ...address })),
    ...(mail.replyTo.length > 0 ? { replyTo: mail.replyTo.map((address) => ({ ...address })) } : {}),
    subject: mail.subject,
    html: mail.html,
    text: mail.text,
    messageId: mail.messageId,
    headers: {
      ...oneLined(mail.headers),
      "Auto-Submitted": "auto-generated",
      [ownHeader]: "1",
      ...unsubscribeHeaders(mail.unsubscribeUrl),
    },
    attachments: (mail.attached ?? []).map(({ filename, media_type, content }) => ({
      filename,
      contentType: media_type,
      content: Buffer.from(content),
    })),
    ...(mail.envelope_from === undefined && mail.envelope_to === undefined ? {} : { envelope: envelopeOf(mail) }),
    ...(mail.dkim === undefined
      ? {}
      : {
          dkim: {
            domainName: mail.dkim.domain,
            keySelector: mail.dkim.selector,
            privateKey: mail.dkim.privateKey,
            headerFieldNames: signedHeaders,
          },
        }),
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function envelopeOf({ envelope_from, envelope_to, from, to, cc, bcc }: FinishedMail) {
  return { from: envelope_from ?? from.address, to: [...(envelope_to ?? [...to, ...cc, ...bcc].map(({ address }) => address))] }
}

/** The transport of a service that is tried out or tested: messages are handed over finished, and nothing is sent. */
export function capturedTransport(capture: OutgoingCapture): Transport {
  return {
    async deliver({ from, to, cc, bcc, replyTo, subject, text, html, messageId, at }, signal) {
      const mail = {
        from: written(from),
        to: to.map(written),
        cc: cc.map(written),
        bcc: bcc.map(written),
        reply_to: replyTo.map(written),
        subject,
        text,
        html,
        message_id: messageId,
        at,
      }
      await capture.mail(mail, signal)
      return { accepted: [...to, ...cc, ...bcc].map(({ address }) => address), refusals: [] }
    },
    close: async () => {},
  }
}

function written({ name, address }: MailAddress): string {
  return name ? `${name} <${address}>` : address
}
