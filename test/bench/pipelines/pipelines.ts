// Cost of many pipelines: 1,000 documents of 10 steps, validated in one process and loaded by a service at its start. Also each
// pipeline's memory while idle.
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import { loadConfig } from "../../../core/kernel/config.ts"
import { openCompiler } from "../../../core/rehearsal/compiler.ts"
import { validateFiles } from "../../../plugins/capture/pipeline-files/commands/validate.ts"
import { child, readMessage } from "../children.ts"
import { type Row, rowOf } from "../table.ts"
import { secretVariable, writeDocuments } from "./documents.ts"

export interface PipelinesBenchOptions {
  readonly only: string
  readonly runs: number
}

/** Seconds, and kilobytes of memory. */
const goals = { validate: 5, start: 10, idle: 30 }
const count = 1_000
/** Pipelines used before the first memory measurement, so it includes their shared memory. */
const warmUp = 200
const root = resolve(import.meta.dirname, "../../..")
const names = { validate: "pipelines/validate", first: "pipelines/first-start", again: "pipelines/start", idle: "pipelines/idle" }

export async function* pipelineRows({ only, runs }: PipelinesBenchOptions): AsyncGenerator<Row> {
  const isSelected = (name: string) => name.startsWith(only)
  if (!Object.values(names).some(isSelected)) return
  // On the project's own disk: /tmp may be memory.
  const folder = mkdtempSync(join(root, "data-bench-"))
  try {
    const files = writeDocuments(join(folder, "pipelines"), count)
    if (isSelected(names.validate)) yield await validated(files, runs)
    if ([names.first, names.again, names.idle].some(isSelected)) {
      for (const row of await started(folder, runs)) if (isSelected(row.name)) yield row
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function validated(files: readonly string[], runs: number): Promise<Row> {
  const { config } = loadConfig({ defaults: join(root, "config/default.yaml"), env: {} })
  const seconds: number[] = []
  for (let run = 0; run < runs; run++) {
    const compiler = await openCompiler({ config, root, env: {} })
    const from = performance.now()
    const checked = await validateFiles(files, compiler)
    seconds.push((performance.now() - from) / 1_000)
    await compiler.stop()
    const refused = checked.filter(({ ok }) => !ok).length
    if (checked.length !== count || refused > 0) throw new Error(`The run is void: ${refused} documents were refused.`)
  }
  return rowOf(names.validate, `s for ${count} documents`, seconds, "goal", [goals.validate])
}

/** Each run starts a service with new pipelines, then one with known pipelines. */
async function started(folder: string, runs: number): Promise<Row[]> {
  const first: number[] = []
  const again: number[] = []
  const idle: number[] = []
  for (let run = 0; run < runs; run++) {
    const env = {
      BENCH_DATA: join(folder, `data-${run}`),
      BENCH_PIPELINES: join(folder, "pipelines"),
      [secretVariable]: randomBytes(24).toString("hex"),
    }
    first.push(await startService(env))
    again.push(
      await startService(env, async (weigh) => {
        const before = await weigh(0, warmUp)
        idle.push((await weigh(warmUp, count)) - before)
      }),
    )
  }
  const perPipeline = idle.map((bytes) => bytes / (count - warmUp) / 1_024)
  return [
    rowOf(names.first, "s to listen", first, "goal", [goals.start], `${count} files, all new`),
    rowOf(names.again, "s to listen", again, "goal", [goals.start], `${count} files, applied before`),
    rowOf(names.idle, "KB a pipeline", perPipeline, "goal", [goals.idle], "compiled, verified and run once"),
  ]
}

type Weigh = (from: number, to: number) => Promise<number>

/** Returns seconds from the process start until it listened. */
async function startService(env: Record<string, string>, use?: (weigh: Weigh) => Promise<void>): Promise<number> {
  const service = child("pipelines/service.ts", env)
  try {
    const { ready_ms } = await readMessage<{ ready_ms: number }>(service)
    await use?.(async (from, to) => {
      const answer = readMessage<{ bytes: number }>(service)
      service.send({ from, to })
      return (await answer).bytes
    })
    return ready_ms / 1_000
  } finally {
    if (service.connected) {
      const ended = new Promise((resolve) => service.once("exit", resolve))
      service.disconnect()
      await ended
    }
  }
}
