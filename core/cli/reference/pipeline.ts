// docs/reference/pipeline.md: the fields of a pipeline's document, with a document that the page's test has validated.
import { Dedupe, PipelineDocument, Retry } from "../../pipeline/document.ts"
import { example, fenced, fieldsOf, fieldTable, generatedNote, pageOf } from "../markdown.ts"

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
    fenced("yaml", example("order.yaml")),
    fenced("sh", "npx millrace pipelines validate pipelines/order.yaml"),
    fenced("text", "1 file, 0 errors, 0 warnings"),
  ])
}
