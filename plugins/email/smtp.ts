// Mail over SMTP, connections pooled. A failure says whether the server refused permanently (5xx about the message or its
// recipients) or something that may pass stood in the way.
import { createTransport } from "nodemailer"
import { AppError } from "#core"
import type { Refusal } from "./guards.ts"
import { asNodemailer, DeliveryFailed, type Transport } from "./transport.ts"

/** Characters of an answer that are kept. */
const maxAnswer = 500

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
        return { accepted: info.accepted.map(plain), refusals: refusalsOf(info.rejectedErrors) }
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

interface ServerAnswer {
  readonly code?: string | undefined
  readonly responseCode?: number | undefined
  readonly response?: string | undefined
  readonly recipient?: string | undefined
  readonly rejectedErrors?: readonly ServerAnswer[] | undefined
}

function refusalsOf(errors: readonly ServerAnswer[] = []): Refusal[] {
  return errors.flatMap(({ recipient, response = "" }) => {
    if (recipient === undefined) return []
    const [, status = null] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response) ?? []
    return [{ address: recipient, status, text: oneLine(response) }]
  })
}

function oneLine(answer: string): string {
  return answer
    .slice(0, maxAnswer)
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .toWellFormed()
}

function explain(error: unknown, signal: AbortSignal | undefined): AppError {
  const { code = "unknown", responseCode, response, rejectedErrors } = error as ServerAnswer
  if (signal?.aborted) {
    return new AppError(
      "deadline_exceeded",
      "The mail server did not accept the message before the deadline.",
      { reason: "timeout" },
      { cause: error },
    )
  }
  const final = (code === "EENVELOPE" || code === "EMESSAGE") && responseCode !== undefined && responseCode >= 500
  const answer = responseCode === undefined ? code : oneLine(response ?? String(responseCode))
  const refusals = refusalsOf(rejectedErrors)
  return final
    ? new DeliveryFailed(
        refusals,
        "failed_precondition",
        `The mail server refused the message (${answer}).`,
        { reason: "mail_refused", retryable: false },
        { cause: error },
      )
    : new DeliveryFailed(
        refusals,
        "unavailable",
        `The mail could not be delivered to the mail server (${answer}).`,
        { reason: "mail_failed" },
        { cause: error },
      )
}
