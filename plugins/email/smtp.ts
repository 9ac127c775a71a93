// Mail over SMTP, connections pooled. A failure says whether the server refused permanently (5xx about the message or its
// recipients) or something that may pass stood in the way.
import { createTransport } from "nodemailer"
import { AppError } from "#core"
import { asNodemailer, type Transport } from "./transport.ts"

export function smtpTransport(url: string): Transport {
  const transporter = createTransport({
    url,
    pool: true,
    maxConnections: 4,
    maxMessages: 100,
    maxRequeues: 0,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
  })
  return {
    async deliver(mail, signal) {
      try {
        const info = await transporter.sendMail({ ...asNodemailer(mail), ...(signal ? { signal } : {}) })
        return { accepted: info.accepted.map(plain), rejected: info.rejected.map(plain) }
      } catch (error) {
        throw explain(error, signal)
      }
    },
    close: async () => transporter.close(),
  }
}

function plain(entry: string | { address: string }): string {
  return typeof entry === "string" ? entry : entry.address
}

function explain(error: unknown, signal: AbortSignal | undefined): AppError {
  const { code = "unknown", responseCode } = error as { code?: string; responseCode?: number }
  if (signal?.aborted) {
    return new AppError(
      "deadline_exceeded",
      "The mail server did not accept the message before the deadline.",
      { reason: "timeout" },
      { cause: error },
    )
  }
  const final = (code === "EENVELOPE" || code === "EMESSAGE") && responseCode !== undefined && responseCode >= 500
  const answer = responseCode === undefined ? code : `${code}, ${responseCode}`
  return final
    ? new AppError(
        "failed_precondition",
        `The mail server refused the message (${answer}).`,
        { reason: "mail_refused", retryable: false },
        { cause: error },
      )
    : new AppError(
        "unavailable",
        `The mail could not be delivered to the mail server (${answer}).`,
        { reason: "mail_failed" },
        { cause: error },
      )
}
