// The transport of a service that is tried out or tested: messages are handed over finished, and nothing is sent.
import type { OutgoingCapture } from "#core/engine"
import type { MailAddress } from "./addresses.ts"
import type { Transport } from "./transport.ts"

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
