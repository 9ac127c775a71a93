// Sends hostile requests over several connections, each with a batch of pipelined requests, and reads the status of each answer.
import { connect } from "node:net"
import { randomFrom } from "../../random.ts"
import { drawInput, type Endpoint, type Input } from "./inputs.ts"

const connections = 8
const batch = 24
const maxFailures = 10

interface Answer {
  readonly status: number
  readonly body: string
}

export interface FuzzReport {
  readonly inputs: number
  readonly statuses: ReadonlyMap<number, number>
  /** Answers of 5xx, each with its request. */
  readonly failures: readonly string[]
}

export interface FuzzArgs {
  readonly port: number
  readonly endpoints: readonly Endpoint[]
  readonly seed: number
  readonly inputs: number
  /** Called after each batch. Stops the run if it returns false. */
  readonly goesOn?: () => boolean
}

export async function fuzz({ port, endpoints, seed, inputs, goesOn = () => true }: FuzzArgs): Promise<FuzzReport> {
  const statuses = new Map<number, number>()
  const failures: string[] = []
  let sentCount = 0
  const sendBatches = async (number: number) => {
    const random = randomFrom(seed + number)
    while (sentCount < inputs && goesOn()) {
      const isBroken = random() < 0.15
      const drawn: Input[] = Array.from({ length: batch }, (_, index) => drawInput(random, endpoints, isBroken && index === batch - 1))
      const answers = await exchange(port, drawn)
      // The service may close the connection before it reads the others.
      sentCount += answers.length + (isBroken ? 1 : 0)
      for (const [index, { status, body }] of answers.entries()) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status >= 500 && failures.length < maxFailures)
          failures.push(`${status} ${body}\n${drawn[index]?.bytes.toString("latin1").slice(0, 1_000)}`)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, number) => sendBatches(number)))
  return { inputs: sentCount, statuses, failures }
}

/** Returns the statuses of the answers until the service closes the connection. Rejects if it refuses the connection. */
function exchange(port: number, inputs: readonly Input[]): Promise<Answer[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1")
    const answers: Answer[] = []
    let others: Buffer = Buffer.alloc(0)
    let isOpen = false
    const sound = inputs.filter(({ isLast }) => !isLast).length
    socket.on("connect", () => {
      isOpen = true
      socket.write(Buffer.concat(inputs.map(({ bytes }) => bytes)))
      if (sound === 0) socket.end()
    })
    socket.on("data", (chunk: Buffer) => {
      others = take(others.length === 0 ? chunk : Buffer.concat([others, chunk]), answers)
      // A service aborts requests of a client that ends first. A broken request has no answer to wait for.
      if (answers.length >= sound) socket.end()
    })
    socket.on("error", (error) => {
      if (!isOpen) reject(error)
    })
    socket.on("close", () => resolve(answers))
  })
}

/** Takes whole answers. Returns the bytes of the next one. */
function take(bytes: Buffer, answers: Answer[]): Buffer {
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n\r\n", at)
    if (end < 0) return bytes.subarray(at)
    const head = bytes.toString("latin1", at, end)
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 599)
    const after = bodyEnd(bytes, end + 4, head, status)
    if (after < 0 || after > bytes.length) return bytes.subarray(at)
    if (status >= 200) answers.push({ status, body: status < 500 ? "" : bytes.toString("utf8", end + 4, after) })
    at = after
  }
}

/** Place after the body; -1 if its end has not arrived. */
function bodyEnd(bytes: Buffer, start: number, head: string, status: number): number {
  if (status < 200 || status === 204) return start
  if (!/\r\ntransfer-encoding: chunked/i.test(head)) return start + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
  if (bytes.toString("latin1", start, start + 5) === "0\r\n\r\n") return start + 5
  const end = bytes.indexOf("\r\n0\r\n\r\n", start)
  return end < 0 ? -1 : end + 7
}
