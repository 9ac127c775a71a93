// Outgoing mail and calls of a rehearsal. Captured in order instead of sent; fixtures answer the calls.
import { once } from "node:events"
import type { CallResponse, OutgoingCall, OutgoingCapture, OutgoingMail } from "../contract/outgoing.ts"
import { AppError } from "../kernel/errors.ts"

/** Answers a call. Returns undefined if another fixture is responsible. */
export type CallFixture = (call: OutgoingCall) => Promise<CallResponse | undefined> | CallResponse | undefined

export class CapturedOutgoing implements OutgoingCapture {
  readonly mails: OutgoingMail[] = []
  readonly calls: OutgoingCall[] = []
  /** Tried in order until a fixture answers. Without an answer the call fails permanently. */
  readonly fixtures: CallFixture[] = []
  /** Called before a mail counts as sent. May throw, like a mail server's refusal. */
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

  /** Removes captured mails and calls, and the fixtures. */
  clear(): void {
    this.mails.length = 0
    this.calls.length = 0
    this.fixtures.length = 0
    this.onMail = undefined
  }
}

/** Rejects if the signal aborts first, like a lost connection. */
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
