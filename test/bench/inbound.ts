// What an inbound event costs: verified, validated, transformed, written as a row and journalled, on disk before the
// answer; beside an express that echoes. Runs alternate, so that a machine that slows down slows both.
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"
import { load, prepareLeads } from "./load.ts"
import { type Row, rowOf } from "./table.ts"

const fullPipeline = {
  name: "Bench lead",
  state: "active",
  auth_mode: "hmac_sha256",
  request_schema: {
    type: "object",
    required: ["email"],
    properties: { email: { type: "string", format: "email" }, name: { type: "string" }, budget: { type: "number" } },
  },
  transform_js:
    "function transform(event) { return { email: event.email.trim().toLowerCase(), name: event.name, budget: Number(event.budget) || 0 } }",
  pipeline: [{ id: "save", type: "dataset.write", dataset_slug: "leads", key: "email" }],
}

export interface BenchOptions {
  readonly only: string
  readonly seconds: number
  readonly runs: number
}

interface Started {
  readonly child: ChildProcess
  readonly url: string
  readonly secret: string | undefined
}

export async function* inboundRows({ only, seconds, runs }: BenchOptions): AsyncGenerator<Row> {
  for (const connections of [64, 256]) {
    const name = `inbound/full/c${connections}`
    if (!name.startsWith(only)) continue
    const ours = await start("service.ts", { BENCH_PIPELINE: JSON.stringify(fullPipeline) })
    const peer = await start("express-echo.ts", {})
    try {
      yield await pair(name, connections, seconds, runs, ours, peer)
    } finally {
      ours.child.disconnect()
      peer.child.disconnect()
    }
  }
}

async function pair(name: string, connections: number, seconds: number, runs: number, ours: Started, peer: Started): Promise<Row> {
  const count = seconds * 25_000
  await load(peer.url, connections, 2, prepareLeads(60_000, "warm", undefined))
  let expected = (await load(ours.url, connections, 2, prepareLeads(60_000, "warm", ours.secret))).ok
  const figures = { ours: [] as number[], peer: [] as number[], p99: [] as number[] }
  for (let run = 0; run < runs; run++) {
    figures.peer.push((await load(peer.url, connections, seconds, prepareLeads(count, `r${run}`, undefined))).perSecond)
    const measured = await load(ours.url, connections, seconds, prepareLeads(count, `r${run}`, ours.secret))
    expected += measured.ok
    figures.ours.push(measured.perSecond)
    figures.p99.push(measured.p99)
    const books = await booksOf(ours.child)
    // A request still under way when the clock stops is stored and not counted: one a connection and run at most.
    const slack = connections * (run + 2)
    if (measured.other > 0 || books.entries !== books.rows || books.entries < expected || books.entries > expected + slack) {
      throw new Error(
        `${name}: the run is void: ${expected} answered 2xx, ${measured.other} otherwise, ${books.entries} entries, ${books.rows} rows`,
      )
    }
  }
  return rowOf(name, "events/s", figures.ours, "express echo", figures.peer, `p99 ${figures.p99.join("/")} ms`)
}

function booksOf(child: ChildProcess): Promise<{ entries: number; rows: number }> {
  return new Promise((resolve) => {
    child.once("message", (message) => resolve((message as { books: { entries: number; rows: number } }).books))
    child.send("books")
  })
}

function start(file: string, env: Record<string, string>): Promise<Started> {
  const child = fork(join(import.meta.dirname, file), {
    env: { ...process.env, NODE_ENV: file.startsWith("express") ? "production" : "test", ...env },
    stdio: "inherit",
  })
  return new Promise((resolve, reject) => {
    child.once("message", (message) => {
      const { url, secret } = message as { url: string; secret?: string }
      resolve({ child, url, secret })
    })
    child.once("exit", (code) => reject(new Error(`${file} ended with ${code} before it listened`)))
  })
}
