// docs/reference/pipeline.md: the fields of a pipeline's document, with a document that the page's test has validated.
import { Dedupe, PipelineDocument, Retry } from "../../pipeline/document.ts"
import { fenced, fieldsOf, fieldTable, generatedNote, pageOf } from "../markdown.ts"

const example = `# pipelines/order.yaml
name: Order
state: active
auth_mode: hmac_sha256
auth_config: { secret: { from_env: ORDERS_SECRET } }
request_schema:
  type: object
  required: [id, email]
  properties: { id: { type: string }, email: { type: string, format: email }, total: { type: number } }
transform_js: |
  function transform(event) {
    return { id: event.id, email: event.email.toLowerCase(), total: event.total ?? 0 }
  }
dedupe: { key: "{{ payload.id }}", window: 24h }
pipeline:
  - id: save
    type: dataset.write
    dataset_slug: orders
    key: id
  - id: tell
    type: http.request
    when: event.total >= 100
    url: https://stock.example.com/orders
    body: { id: "{{ event.id }}" }
    retry: { max_attempts: 5, initial_delay_ms: 1000 }
    on_error: raise_alarm
  - type: respond
    status: 201
    body: { row: "{{ steps.save.row_id }}" }
handlers:
  raise_alarm: { type: email.send, to: stock@example.com, heading: "The order {{ event.id }} was not passed on" }
`

export function pipelineReference(): string {
  return pageOf([
    generatedNote("the document's schema"),
    "# The document of a pipeline",
    "YAML or JSON, in a file under `pipelines/` or sent to the API. Only `name` is required. Editors complete and check it with the schema that `npx millrace schema` prints; the [lint rules](../rules/README.md) say what is refused, and why.",
    fieldTable(fieldsOf(PipelineDocument)),
    "The fields of `auth_config` are on the [auth mode's page](auth-modes.md), those of a step on its [action's page](actions.md), with the [fields of every action](actions.md#fields-of-every-action).",
    "## dedupe",
    fieldTable(fieldsOf(Dedupe)),
    "## retry",
    "The retry policy of a step: exponential backoff with full jitter.",
    fieldTable(fieldsOf(Retry)),
    "## Example",
    fenced("yaml", example),
    fenced("sh", "npx millrace pipelines validate pipelines/order.yaml"),
    fenced("text", "1 file, 0 errors, 0 warnings"),
  ])
}
