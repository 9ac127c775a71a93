// Peers that store their requests: the handwritten handler, and PocketBase if its binary is available.
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as pause } from "node:timers/promises"
import { freePort } from "../../free-port.ts"
import { finished } from "../../processes.ts"
import { child, readMessage } from "../children.ts"
import type { Contestant, Keeper } from "../contest.ts"
import type { RequestSpec } from "../load/load.ts"
import { benchFolder } from "../machine.ts"
import { BenchProblem } from "../options.ts"
import { processTree } from "../service/cpu.ts"

export interface KeepingPeer {
  readonly name: string
  readonly contestant: Contestant
  stop(): Promise<void>
}

/** Counts rows and log entries of a peer's own database from outside. */
function keeperOf(pid: number, file: string, tables: { readonly rows: string; readonly entries: string | undefined }): Keeper {
  return {
    tree: processTree(pid),
    explain: async () => "",
    async books() {
      const database = new DatabaseSync(file, { readOnly: true })
      const count = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"])
      try {
        return { rows: count(tables.rows), entries: tables.entries === undefined ? 0 : count(tables.entries) }
      } finally {
        database.close()
      }
    },
  }
}

const handler = "express handler"

export async function startHandler(body: RequestSpec["body"]): Promise<KeepingPeer> {
  const folder = benchFolder()
  const secret = randomBytes(24).toString("hex")
  const running = child("peers/express-handler.ts", { NODE_ENV: "production", BENCH_FOLDER: folder, BENCH_SECRET: secret })
  const { url } = await readMessage<{ url: string }>(running)
  const request = { url, body, hmac: { header: "x-signature-256", secret } }
  const keeps = keeperOf(running.pid ?? 0, join(folder, "leads.db"), { rows: "leads", entries: "log" })
  return { name: handler, contestant: { name: handler, request, keeps }, stop: () => stopped(running, folder) }
}

/** Path of the binary. Without it PocketBase is left out. */
export const pocketBaseVariable = "BENCH_POCKETBASE"
const pocketBase = "PocketBase"

const startMs = 30_000

/** Creates a collection with public record creation, a lead's fields and a unique email. */
export async function startPocketBase(binary: string, body: RequestSpec["body"]): Promise<KeepingPeer> {
  const folder = benchFolder()
  const [email, password] = ["bench@example.com", randomBytes(12).toString("hex")]
  // Its migrations are beside its data.
  const data = ["--dir", join(folder, "data")]
  await finished(spawn(binary, ["superuser", "upsert", email, password, ...data], { stdio: "ignore" }))
  const base = `http://127.0.0.1:${await freePort()}`
  const running = spawn(binary, ["serve", "--http", base.slice("http://".length), ...data], { stdio: "ignore" })
  const call = async (path: string, input: object, token = "") => {
    const headers = { "content-type": "application/json", ...(token === "" ? {} : { authorization: token }) }
    const answer = await fetch(base + path, { method: "POST", headers, body: JSON.stringify(input) })
    if (!answer.ok) throw new BenchProblem(`PocketBase answered POST ${path} with ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as { token?: string }
  }
  try {
    await healthy(`${base}/api/health`, running)
    const { token } = await call("/api/collections/_superusers/auth-with-password", { identity: email, password })
    const field = (name: string, type: string, more: object = {}) => ({ name, type, ...more })
    const fields = [
      ...[field("email", "email", { required: true }), field("name", "text"), field("company", "text"), field("budget", "number")],
      ...[field("message", "text"), field("tags", "json"), field("consent", "bool")],
    ]
    const indexes = ["CREATE UNIQUE INDEX leads_email ON leads(email)"]
    await call("/api/collections", { name: "leads", type: "base", createRule: "", fields, indexes }, token)
  } catch (error) {
    await stopped(running, folder)
    throw error
  }
  const keeps = keeperOf(running.pid ?? 0, join(folder, "data", "data.db"), { rows: "leads", entries: undefined })
  const contestant: Contestant = {
    name: pocketBase,
    request: { url: `${base}/api/collections/leads/records`, body },
    keeps,
    leaves: { rows: 1, entries: 0 },
  }
  return { name: pocketBase, contestant, stop: () => stopped(running, folder) }
}

async function healthy(url: string, running: ChildProcess): Promise<void> {
  const until = performance.now() + startMs
  while (performance.now() < until && running.exitCode === null) {
    if (
      await fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return
    await pause(100)
  }
  throw new BenchProblem(`PocketBase did not answer at ${url} within ${startMs / 1_000} s.`)
}

async function stopped(running: ChildProcess, folder: string): Promise<void> {
  const ended = new Promise((resolve) => running.once("exit", resolve))
  running.kill("SIGKILL")
  if (running.exitCode === null && running.signalCode === null) await ended
  rmSync(folder, { recursive: true, force: true })
}
