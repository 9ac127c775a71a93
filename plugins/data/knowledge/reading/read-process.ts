// A reading process: one document of an untrusted author, without access to files, network, addons and children.
import { fileURLToPath } from "node:url"
import { ConfinedChild } from "#core/engine"
import { frameOf, frameReader, lengthOf, type ReadAnswer, type ReadFault, type ReadResult, type ReadTask } from "./protocol.ts"

export interface ReadLimits {
  readonly memoryMb: number
  readonly deadlineMs: number
}

export type ReadOutcome =
  | Exclude<ReadResult, { kind: "fault" }>
  | { readonly kind: "fault"; readonly fault: ReadFault | "out_of_memory" | "too_slow" | "crashed"; readonly message: string }

const main = new URL("./read-main.ts", import.meta.url)
const maxAnswerBytes = 16 * 1_048_576
/** Address space that Node reserves and never fills. */
const reservedMb = 1_024
const prlimitMs = 5_000

/** Resolves with what the document says, or why it says nothing. Rejects where the process could not be started. `document`: in pieces. */
export async function readInProcess(task: ReadTask, document: readonly Uint8Array[], limits: ReadLimits): Promise<ReadOutcome> {
  const child = start(task.type, limits)
  const stdin = child.pipe(0)
  // What it leaves unread when it is killed.
  stdin?.on("error", () => undefined)
  let isReady = false
  try {
    const answered = new Promise<ReadResult>((resolve, reject) => {
      let text: IncomingText | undefined
      const take = frameReader(maxAnswerBytes, (body) => {
        if (text) text.take(body)
        else {
          const said = JSON.parse(body.toString("utf8")) as ReadAnswer
          if (said.kind === "fault") return resolve(said)
          if (said.kind === "text") text = new IncomingText(said, resolve)
          else if (isReady) child.kill()
          else {
            isReady = true
            child.denyDescriptors(prlimitMs).then(() => {
              stdin?.write(frameOf(task))
              stdin?.write(lengthOf({ length: document.reduce((sum, { length }) => sum + length, 0) }))
              for (const piece of document) stdin?.write(piece)
            }, reject)
          }
        }
      })
      child.pipe(1)?.on("data", (chunk: Buffer) => {
        try {
          take(chunk)
        } catch {
          child.kill("memory")
        }
      })
    })
    const answer = await child.within(limits, () => Promise.race([answered, child.ended.then(() => undefined)]))
    if (answer) return answer
  } finally {
    child.kill()
  }
  const { killed, stderr } = await child.ended
  if (killed === "deadline") return { kind: "fault", fault: "too_slow", message: `Reading took more than ${limits.deadlineMs} ms.` }
  if (killed === "memory" || /out of memory|allocation failed|Array buffer allocation/i.test(stderr))
    return { kind: "fault", fault: "out_of_memory", message: `Reading took more than ${limits.memoryMb} MiB of memory.` }
  if (!isReady) throw new Error(`The reading process did not start: ${stderr.trim() || "it ended"}`)
  return { kind: "fault", fault: "crashed", message: "The document ended the process that read it." }
}

/** A text as its frames come. A frame may end within a character. */
class IncomingText {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  readonly #title: string
  readonly #done: (result: ReadResult) => void
  #framesLeft: number
  #bytesLeft = maxAnswerBytes
  #text = ""

  constructor({ title, frames }: Extract<ReadAnswer, { kind: "text" }>, done: (result: ReadResult) => void) {
    this.#title = title
    this.#done = done
    this.#framesLeft = frames
  }

  /** Throws for a longer text than any document may have. */
  take(frame: Buffer): void {
    this.#bytesLeft -= frame.length
    if (this.#bytesLeft < 0) throw new RangeError(`A text of more than ${maxAnswerBytes} bytes is too long.`)
    this.#text += this.#decoder.decode(frame, { stream: true })
    if (--this.#framesLeft === 0) this.#done({ kind: "text", title: this.#title, text: this.#text + this.#decoder.decode() })
  }
}

function start(type: ReadTask["type"], { memoryMb, deadlineMs }: ReadLimits): ConfinedChild {
  return new ConfinedChild({
    name: "reading process",
    main,
    flags: [
      ...["--no-warnings", "--disable-proto=delete", "--disallow-code-generation-from-strings"],
      ...[`--max-old-space-size=${memoryMb}`, "--no-experimental-websocket", "--no-experimental-eventsource"],
    ],
    parameters: [type],
    // A process that outlives the service has no other deadline.
    limits: { dataMb: memoryMb + reservedMb, cpuSeconds: Math.ceil(deadlineMs / 500) + 5 },
    files: { read: [fileURLToPath(new URL("./", main))], packages: ["pdfjs-dist", "parse5"] },
    stdio: ["pipe", "pipe", "pipe"],
  })
}
