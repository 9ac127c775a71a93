// Starts a reading process for one document of an untrusted author, without access to files, network, addons and child processes.
import { fileURLToPath } from "node:url"
import { ConfinedChild } from "#core/engine"
import { type ReadFault, type ReadResult, type ReadTask, readAnswer, ready, type SizedTask } from "./protocol.ts"

export interface ReadLimits {
  readonly memoryMb: number
  readonly deadlineMs: number
}

export type ReadOutcome =
  | Exclude<ReadResult, { kind: "fault" }>
  | { readonly kind: "fault"; readonly fault: ReadFault | "out_of_memory" | "too_slow" | "crashed"; readonly message: string }

const main = new URL("./read-main.ts", import.meta.url)
/** Bound on a text with its title. */
const maxOutputBytes = 17 * 1_048_576
/** Address space reserved by Node but never filled. */
const reservedMb = 1_024
const prlimitMs = 5_000

/** Resolves with the document's text or the reason for its absence. Rejects if the process does not start. `document` is in pieces. */
export async function readInProcess(task: ReadTask, document: readonly Uint8Array[], limits: ReadLimits): Promise<ReadOutcome> {
  const child = start({ ...task, bytes: document.reduce((sum, { length }) => sum + length, 0) }, limits)
  const stdin = child.pipe(0)
  // A killed process leaves a part of the document unread.
  stdin?.on("error", () => undefined)
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  let [output, outputBytes, isReady] = ["", 0, false]
  child.pipe(1)?.on("data", (chunk: Buffer) => {
    outputBytes += chunk.length
    if (outputBytes > maxOutputBytes) return child.kill("memory")
    output += decoder.decode(chunk, { stream: true })
    if (isReady || output !== ready) return
    isReady = true
    child.denyDescriptors(prlimitMs).then(
      () => {
        for (const piece of [Buffer.from("\n"), ...document]) stdin?.write(piece)
      },
      (error: Error) => {
        isReady = false
        child.fail(error)
      },
    )
  })
  const { code, killed, stderr } = await child.within(limits, () => child.ended)
  if (code === 0) return resultOf(output.slice(ready.length))
  if (killed === "deadline") return { kind: "fault", fault: "too_slow", message: `Reading took more than ${limits.deadlineMs} ms.` }
  if (killed === "memory" || /out of memory|allocation failed|Array buffer allocation/i.test(stderr))
    return { kind: "fault", fault: "out_of_memory", message: `Reading took more than ${limits.memoryMb} MiB of memory.` }
  if (!isReady) throw new Error(`The reading process did not start: ${stderr.trim() || "it ended"}`)
  return crashed
}

const crashed: ReadOutcome = { kind: "fault", fault: "crashed", message: "The document ended the process that read it." }

function resultOf(answer: string): ReadOutcome {
  try {
    return readAnswer(answer)
  } catch {
    return crashed
  }
}

function start(task: SizedTask, { memoryMb, deadlineMs }: ReadLimits): ConfinedChild {
  return new ConfinedChild({
    name: "reading process",
    main,
    flags: [
      ...["--no-warnings", "--disable-proto=delete", "--disallow-code-generation-from-strings"],
      ...[`--max-old-space-size=${memoryMb}`, "--no-experimental-websocket", "--no-experimental-eventsource"],
    ],
    parameters: [JSON.stringify(task)],
    // A process that outlives the service has no other deadline.
    limits: { dataMb: memoryMb + reservedMb, cpuSeconds: Math.ceil(deadlineMs / 500) + 5 },
    files: { read: [fileURLToPath(new URL("./", main))], packages: ["pdfjs-dist", "parse5"] },
    stdio: ["pipe", "pipe", "pipe"],
  })
}
