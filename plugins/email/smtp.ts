// Mail over SMTP, connections pooled. A failure says whether the server refused permanently (5xx about the message or its
// recipients), something that may pass stood in the way, or nobody knows: the server was handed the whole message and did
// not say what became of it. SMTP has no way to ask, so such a message is not sent again by itself.
import type { SendMailOptions } from "nodemailer"
import { AppError } from "#core"
import type { Refusal } from "./guards.ts"
import { asNodemailer, DeliveryFailed, type Transport } from "./transport.ts"

/** Characters of an answer that are kept. */
const maxAnswer = 500

export function smtpTransport(url: string): Transport {
  // Loaded with the first message: commands declare the plugin and send nothing.
  let pool: ReturnType<typeof openPool> | undefined
  return {
    async deliver(mail, signal) {
      let isHandedOver = false
      const handedOver = () => {
        isHandedOver = true
      }
      try {
        const given: SendMailOptions & Handed = { ...asNodemailer(mail), handedOver, ...(signal ? { signal } : {}) }
        pool ??= openPool(url)
        const info = await (await pool).sendMail(given)
        return { accepted: info.accepted.map(plain), refusals: refusalsOf(info.rejectedErrors) }
      } catch (error) {
        throw explain(error, signal, isHandedOver)
      }
    },
    close: async () => (await pool)?.close(),
  }
}

async function openPool(url: string) {
  const { createTransport } = await import("nodemailer")
  const transporter = createTransport({
    url,
    pool: true,
    maxConnections: 4,
    maxMessages: 100,
    maxRequeues: 0,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    // As long as a server may take over the end of a message (RFC 5321, 4.5.3.2.6); deadlines of callers come first.
    socketTimeout: 600_000,
  })
  transporter.use("stream", (mail, done) => {
    const { message, data } = mail
    const create = message.createReadStream.bind(message)
    message.createReadStream = (options) => create(options).once("end", () => (data as Handed).handedOver?.())
    done()
  })
  return transporter
}

function plain(entry: string | { address: string }): string {
  return typeof entry === "string" ? entry : entry.address
}

/** What a message is given beside what nodemailer knows. */
interface Handed {
  /** Called when all of it was read to be written to the server. */
  readonly handedOver?: () => void
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
