// Input of a transport: a finished message with parsed addresses. Both transports build the same MIME text.
import type { SendMailOptions } from "nodemailer"
import { AppError } from "#core"
import type { OutgoingCapture } from "#core/engine"
import type { MailAddress } from "./addresses.ts"
import type { Refusal } from "./guards.ts"
import type { Sender } from "./senders.ts"

export interface FinishedMail extends Pick<Sender, "dkim" | "envelope_from"> {
  /** Id of the sending organization. */
  readonly organization?: string
  /** Recipients of this try, if others already have the message. */
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
  /** A POST to this URL unsubscribes the recipient at once. */
  readonly unsubscribeUrl?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly attached?: readonly AttachedFile[] | undefined
}

export interface AttachedFile {
  readonly filename: string
  readonly media_type: string
  readonly content: Uint8Array
}

/** A header on each message. Incoming mail with this header came from the service itself. */
export const ownHeader = "X-Millrace-Sent"

export interface Delivery {
  readonly accepted: readonly string[]
  /** Refused recipients, if the server accepted others. */
  readonly refusals: readonly Refusal[]
}

/** A message refused for all recipients, with the refusals. */
export class DeliveryFailed extends AppError {
  readonly refusals: readonly Refusal[]

  constructor(refusals: readonly Refusal[], ...error: ConstructorParameters<typeof AppError>) {
    super(...error)
    this.refusals = refusals
  }
}

export interface Transport {
  /** True if messages become files and another program delivers them. */
  readonly isOutbox?: true
  /** Resolves after the message is stored outside this process. */
  deliver(mail: FinishedMail, signal: AbortSignal | undefined): Promise<Delivery>
  close(): Promise<void>
}

/** Signed headers if present (RFC 6376 section 5.4.1), with the additions of RFC 8058 section 4. */
const signedHeaders =
  "From:Sender:Reply-To:Subject:Date:Message-ID:To:Cc:MIME-Version:Content-Type:Content-Transfer-Encoding:Auto-Submitted:List-Unsubscribe:List-Unsubscribe-Post"

/** Headers of RFC 2369, and of RFC 8058 for an HTTPS URL. The URL is neither folded nor encoded. */
function unsubscribeHeaders(url: string | undefined): Record<string, string | { prepared: boolean; value: string }> {
  if (url === undefined) return {}
  const oneClick = url.startsWith("https:") ? { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" } : {}
  return { "List-Unsubscribe": { prepared: true, value: `<${url}>` }, ...oneClick }
}

function oneLined(headers: FinishedMail["headers"] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")]))
}

/** Converts a mail to nodemailer's form. `Auto-Submitted` (RFC 3834) keeps vacation responders from answering. */
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

/** Transport for rehearsals and tests: captures finished messages and sends no mail. */
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
