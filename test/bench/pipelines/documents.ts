// Pipelines to measure: ten steps each, with a unique schema and transform.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Returns the files. */
export function writeDocuments(folder: string, count: number): string[] {
  mkdirSync(folder, { recursive: true })
  return Array.from({ length: count }, (_, index) => {
    const file = join(folder, `pipeline-${index}.yaml`)
    writeFileSync(file, documentText(index))
    return file
  })
}

/** Variable with their common secret. */
export const secretVariable = "BENCH_PIPELINE_SECRET"

/** Returns an event that matches a document's schema. */
export function eventFor(index: number): object {
  return { email: `ada-${index}@example.com`, n0: index + 20, [`n${index}`]: index + 20 }
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
auth_config: { secret: { from_env: ${secretVariable} } }
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
