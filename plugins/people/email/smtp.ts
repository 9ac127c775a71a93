// Mail over pooled SMTP connections. A failure is permanent (5xx about the message or its recipients), temporary or unknown. The
// outcome is unknown if the server received the whole message and did not confirm. SMTP has no status query, so the service does
// not retry these messages automatically.
import type { SendMailOptions } from "nodemailer"
import { AppError, type Clock } from "#core"
import { type CallOutcome, type Destinations, systemClock } from "#core/engine"
import { domainOf } from "./addresses.ts"
import { type Handed, MailConnections } from "./connections.ts"
import type { Refusal } from "./guards.ts"
import { asNodemailer, type Delivery, DeliveryFailed, type FinishedMail, type Transport } from "./transport.ts"

/** Limit of a stored server answer, characters. */
const maxAnswer = 500

export interface SmtpOptions {
  readonly clock?: Clock
  /** Concurrent connections per organization. */
  readonly maxConnections?: number
  /** Pauses mail to an unresponsive server. */
  readonly destinations?: Destinations
}

export function smtpTransport(url: string, { clock = systemClock, maxConnections = 48, destinations }: SmtpOptions = {}): Transport {
  const connections = new MailConnections({ url, clock, maxConnections })
  const name = new URL(url).host

  async function send(mail: FinishedMail, signal: AbortSignal | undefined): Promise<Delivery> {
    let isHandedOver = false
    const handedOver = () => {
      isHandedOver = true
    }
    try {
      const given: SendMailOptions & Handed = { ...asNodemailer(mail), handedOver, ...(signal ? { signal } : {}) }
      const turn = { organization: mail.organization ?? "", domain: domainOfMail(mail), signal }
      const info = await connections.use(turn, (pool) => pool.sendMail(given))
      return { accepted: info.accepted.map(plain), refusals: refusalsOf(info.rejectedErrors) }
    } catch (error) {
      throw explain(error, signal, isHandedOver)
    }
  }

  return {
    deliver(mail, signal) {
      if (!destinations) return send(mail, signal)
      const { organization = "" } = mail
      const of = (error: unknown) => outcomeOf(error, signal)
      return destinations.call({ organization, kind: "mail", name }, () => send(mail, signal), of)
    },
    close: () => connections.close(),
  }
}

/** Returns the outcome of a call. Only a timeout indicates an unresponsive server, an early close does not. */
function outcomeOf(error: unknown, signal: AbortSignal | undefined): CallOutcome {
  if (signal?.aborted) return signal.reason instanceof AppError && signal.reason.code === "deadline_exceeded" ? "silent" : "unknown"
  const { cause } = error as { cause?: { code?: unknown; responseCode?: unknown } }
  if (cause?.code === "ETIMEDOUT") return "silent"
  return cause?.responseCode === undefined ? "unknown" : "answered"
}

function domainOfMail({ envelope_to, to, cc, bcc }: FinishedMail): string {
  return domainOf(envelope_to?.[0] ?? [...to, ...cc, ...bcc][0]?.address ?? "")
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
  return errors.flatMap(({ recipient, responseCode = 0, response = "" }) => {
    if (recipient === undefined) return []
    const [, status = null] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response) ?? []
    return [{ address: recipient, status, permanent: responseCode >= 500, text: oneLine(response) }]
  })
}

function oneLine(answer: string): string {
  return answer
    .slice(0, maxAnswer)
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .toWellFormed()
}

function explain(error: unknown, signal: AbortSignal | undefined, isHandedOver: boolean): AppError {
  const { code = "unknown", responseCode, response, rejectedErrors } = error as ServerAnswer
  if (isHandedOver && !(responseCode && responseCode >= 400)) {
    const message = `The mail server was handed the whole message and did not confirm it (${response ? oneLine(response) : code}); it may have been delivered, and is not sent again by itself.`
    return new AppError("deadline_exceeded", message, { reason: "mail_unconfirmed", retryable: false }, { cause: error })
  }
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
