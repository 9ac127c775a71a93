// What compiling costs: 1,000 documents of 10 steps, each with a schema and a transform of its own, in one process.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { openCompiler } from "../../core/cli/pipelines/compiler.ts"
import { validateFiles } from "../../core/cli/pipelines/validate.ts"
import { loadConfig } from "../../core/kernel/config.ts"
import type { Row } from "./table.ts"

const count = 1_000
const goal_s = 5
const root = resolve(import.meta.dirname, "../..")

export async function validateRow(runs: number): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-validate-"))
  const { config } = loadConfig({ defaults: join(root, "config/default.yaml"), env: {} })
  try {
    const files = Array.from({ length: count }, (_, index) => {
      const file = join(folder, `pipeline-${index}.yaml`)
      writeFileSync(file, documentText(index))
      return file
    })
    const seconds: number[] = []
    for (let run = 0; run < runs; run++) {
      const compiler = await openCompiler({ config, root })
      const started = performance.now()
      const checked = await validateFiles(files, compiler)
      seconds.push((performance.now() - started) / 1_000)
      await compiler.stop()
      if (checked.length !== count || checked.some(({ ok }) => !ok))
        throw new Error(`The run is void: ${checked.filter(({ ok }) => !ok).length} documents were refused.`)
    }
    const sorted = [...seconds].sort((a, b) => a - b)
    const ours = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
    const range = [sorted[0] ?? Number.NaN, sorted.at(-1) ?? Number.NaN] as const
    return {
      name: "validate/1000x10",
      ours: round(ours),
      peer: goal_s,
      peer_name: "goal",
      ratio: round(goal_s / ours),
      unit: "s",
      ours_range: [round(range[0]), round(range[1])],
      note: `${round((ours * 1_000) / count)} ms a document`,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

function documentText(index: number): string {
  const writes = Array.from(
    { length: 6 },
    (_, step) =>
      `  - { id: write_${step}, type: dataset.write, dataset_slug: rows-${step}, key: email, row: { email: "{{ event.email }}", n: "{{ event.n${step} }}" } }`,
  )
  return `name: Pipeline ${index}
state: active
auth_mode: hmac_sha256
request_schema:
  type: object
  required: [email]
  properties: { email: { type: string, format: email }, n${index}: { type: integer, minimum: ${index} } }
transform_js: |
  function transform(event) { return { ...event, email: event.email.toLowerCase(), from: ${index} } }
pipeline:
${writes.join("\n")}
  - { id: mail, type: email.send, when: event.n0 > 10, to: sales@example.com, heading: "New {{ event.email }}" }
  - { type: live.broadcast, channel: leads, data: { email: "{{ event.email }}" } }
  - { id: call, type: http.request, url: https://hooks.example.com/x, body: { id: "{{ steps.write_0.row_id }}" } }
  - { type: respond, status: 201, body: { id: "{{ steps.write_0.row_id }}" } }
`
}
