// Outgoing mail and calls of a rehearsal: captured in order instead of being sent, calls answered from fixtures.
import { once } from "node:events"
import type { CallResponse, OutgoingCall, OutgoingCapture, OutgoingMail } from "../contract/outgoing.ts"
import { AppError } from "../kernel/errors.ts"

/** Answers a call; undefined where it is not for this fixture. */
export type CallFixture = (call: OutgoingCall) => Promise<CallResponse | undefined> | CallResponse | undefined

export class CapturedOutgoing implements OutgoingCapture {
  readonly mails: OutgoingMail[] = []
  readonly calls: OutgoingCall[] = []
  /** Asked in order, the first one that answers. Without an answer the call fails permanently. */
  readonly fixtures: CallFixture[] = []
  /** Called before a mail counts as sent; may throw, as a mail server would refuse. */
  onMail: ((mail: OutgoingMail) => Promise<void> | void) | undefined

  async mail(mail: OutgoingMail, signal?: AbortSignal): Promise<void> {
    await unlessAborted(this.onMail?.(mail), signal)
    this.mails.push(mail)
  }

  async call(call: OutgoingCall, signal?: AbortSignal): Promise<CallResponse> {
    this.calls.push(call)
    for (const fixture of this.fixtures) {
      const answer = await unlessAborted(fixture(call), signal)
      if (answer) return answer
    }
    const message = `No fixture answers ${call.method} ${call.url}, and nothing is sent. Add a fixture.`
    throw new AppError("failed_precondition", message, { reason: "no_fixture", retryable: false })
  }

  /** Forgets what was sent, and the fixtures. */
  clear(): void {
    this.mails.length = 0
    this.calls.length = 0
    this.fixtures.length = 0
    this.onMail = undefined
  }
}

/** Rejects when the signal aborts first, as a cut connection would. */
async function unlessAborted<T>(answer: Promise<T> | T, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return answer
  signal.throwIfAborted()
  const answered = new AbortController()
  try {
    const cut = once(signal, "abort", { signal: answered.signal }).then(() => Promise.reject(signal.reason as Error))
    return await Promise.race([answer, cut])
  } finally {
    answered.abort()
  }
}
