// Reaching one worker of a service among several: by the door that each has in the data folder.
import { request } from "node:http"
import { relative } from "node:path"

export interface DoorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export type Door = (method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<DoorAnswer>

export function doorOf(dataDir: string, slot: number): Door {
  const socketPath = relative(process.cwd(), `${dataDir}/workers/${slot}.sock`)
  return (method, path, body, headers = {}) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body)
      const sent = request({ socketPath, method, path, headers: { "content-type": "application/json", ...headers } }, (answer) => {
        const chunks: Buffer[] = []
        answer.on("data", (chunk: Buffer) => chunks.push(chunk))
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }))
      })
      sent.on("error", reject)
      sent.end(text)
    })
}

/** Asks again for as long as the answer is 503, as clients are told to: a node on a busy machine may lose touch for a moment. */
export function patient(door: Door): Door {
  return async (...asked) => {
    for (;;) {
      const answer = await door(...asked)
      if (answer.status !== 503) return answer
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
