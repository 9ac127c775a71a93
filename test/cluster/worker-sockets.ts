// Reaches one worker of a service by its socket in the folder of its primary.
import { readdirSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { patiently } from "../waiting.ts"

export interface WorkerResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export type WorkerClient = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<WorkerResponse>

/** Returns the folder of a primary; undefined if it is missing. */
export function socketFolderOf(primary: number): string | undefined {
  const name = readdirSync(tmpdir()).find((value) => value.startsWith(`millrace-${primary}-`))
  return name === undefined ? undefined : join(tmpdir(), name)
}

export function workerClient(primary: number, worker: number): WorkerClient {
  const socketPath = join(socketFolderOf(primary) ?? "", `${worker}.sock`)
  return (method, path, body, headers = {}) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body)
      const outgoing = request({ socketPath, method, path, headers: { "content-type": "application/json", ...headers } }, (answer) => {
        const chunks: Buffer[] = []
        answer.on("data", (chunk: Buffer) => chunks.push(chunk))
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }))
      })
      outgoing.on("error", reject)
      outgoing.end(text)
    })
}

/** Retries after a 503, within bounds: on a busy machine, a node may lose touch with its peers for a moment. */
export function patient(client: WorkerClient): WorkerClient {
  return (...requests) => patiently(() => client(...requests))
}
