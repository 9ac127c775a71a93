// Worker thread: parses and authenticates messages, one at a time. Exceeding time or memory ends the thread instead of the
// service. DNS lookups go through the service.
import { parentPort } from "node:worker_threads"
import { type AskDns, authenticationOf } from "./authentication.ts"
import type { FromThread, ToThread } from "./mail-parser.ts"
import { readAttachment, readContent } from "./read-content.ts"

const questions = new Map<number, Parameters<ConstructorParameters<typeof Promise<Awaited<ReturnType<AskDns>>>>[0]>[0]>()
let lastQuestion = 0

const say = (message: FromThread) => parentPort?.postMessage(message)

const ask: AskDns = (name, type) =>
  new Promise((resolve) => {
    questions.set(++lastQuestion, resolve)
    say({ kind: "ask", question: lastQuestion, name, type })
  })

// An unreadable message ends the thread. Its parent then reads the headers alone.
parentPort?.on("message", (message: ToThread) => {
  take(message).catch((error: unknown) => {
    setImmediate(() => {
      throw error
    })
  })
})

async function take(message: ToThread): Promise<void> {
  if (message.kind === "answer") {
    questions.get(message.question)?.(message.answer)
    questions.delete(message.question)
    return
  }
  if (message.kind === "attachment") {
    say({ id: message.id, bytes: await readAttachment(message.raw, message.index) })
    return
  }
  const { id, raw, origin } = message
  const content = await readContent(raw)
  say({ kind: "content", content })
  const authentication = await authenticationOf(raw, origin, ask).catch(() => undefined)
  questions.clear()
  say({ id, authentication })
}
