// Renders one operation of the API reference: description, parameters, body, responses and a form to try it.
import { type Html, html, noHtml } from "../../kernel/html.ts"
import type { JsonObject } from "../wire-schema.ts"
import { fieldList, prose, type Resolve, typeOf } from "./schema-fields.ts"

export interface OperationView {
  readonly id: string
  readonly tag: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly entry: JsonObject
  readonly resolve: Resolve
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: JsonObject
}

export function operationArticle(view: OperationView): Html {
  const { id, method, path, summary, entry, resolve } = view
  // References are shared by many operations. `sharedParts` renders them once.
  const [shared, own] = partition(entry["parameters"] as JsonObject[], isReference)
  const headers = shared.map((one) => resolved(one, resolve) as unknown as Parameter)
  const parameters = own as unknown as Parameter[]
  const answers = Object.entries(entry["responses"] as Record<string, JsonObject>).filter(([, one]) => !isReference(one))
  const body = entry["requestBody"] as JsonObject | undefined
  return html`<article id="${id}">
<h3><span class="method ${method}">${method}</span> <code>${path}</code> <a class="anchor" href="#${id}" aria-label="Link to ${summary}">#</a></h3>
<p class="summary">${summary}</p>
${prose(String(entry["description"] ?? ""))}
${parameters.length > 0 ? html`<h4>Parameters</h4><dl>${parameters.map((one) => parameterItem(one, resolve))}</dl>` : noHtml}
${body ? bodyOf(body, resolve) : noHtml}
<h4>Answers</h4>
${answers.map(([status, one]) => answerOf(status, one, resolve))}
${tryIt(view, { parameters, headers }, body)}
</article>`
}

/** Renders the headers and responses shared by all operations. */
export function sharedParts(components: Readonly<Record<string, Record<string, JsonObject>>>, resolve: Resolve): Html {
  const headers = Object.values(components["parameters"] ?? {}) as unknown as Parameter[]
  const answers = Object.values(components["responses"] ?? {})
  return html`<section class="tag"><h2>Every operation</h2><div id="every-operation">
<h4>Headers, where the operation has a use for them</h4><dl>${headers.map((one) => parameterItem(one, resolve))}</dl>
<h4>Answers that any of them may give</h4><ul>${answers.map(({ description }) => html`<li>${prose(String(description))}</li>`)}</ul>
</div></section>`
}

function partition<T>(all: readonly T[], belongs: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(belongs), all.filter((one) => !belongs(one))]
}

function isReference(value: JsonObject): boolean {
  return typeof value["$ref"] === "string"
}

function parameterItem({ name, in: place, required, description, schema }: Parameter, resolve: Resolve): Html {
  return html`<dt><code>${name}</code> <span class="type">${typeOf(schema, resolve)}</span> <span class="place">${place}${required ? ", required" : ""}</span></dt><dd>${prose(description ?? "")}</dd>`
}

function bodyOf(body: JsonObject, resolve: Resolve): Html {
  const [type = "", content = {}] = Object.entries((body["content"] ?? {}) as Record<string, JsonObject>)[0] ?? []
  return html`<h4>Body <span class="type">${type}</span></h4>${fieldList(content["schema"] as JsonObject, resolve)}${exampleOf(content)}`
}

function answerOf(status: string, answer: JsonObject, resolve: Resolve): Html {
  const content = ((answer["content"] ?? {}) as Record<string, JsonObject>)["application/json"]
  const isError = Number(status) >= 400
  const inside =
    content && !isError
      ? html`${fieldList(content["schema"] as JsonObject, resolve)}${exampleOf(content)}`
      : content
        ? exampleOf(content)
        : noHtml
  return html`<details class="answer"${status.startsWith("2") ? html` open` : noHtml}><summary><b class="${isError ? "bad" : "good"}">${status}</b> ${prose(String(answer["description"]))}</summary>${inside}</details>`
}

function exampleOf(content: JsonObject): Html {
  const [first, ...others] = examplesOf(content)
  if (first === undefined) return noHtml
  const shown = ({ summary, value }: Example) =>
    html`${others.length > 0 ? html`<p>${summary}</p>` : noHtml}<pre>${JSON.stringify(value, null, 2)}</pre>`
  return html`${[first, ...others].map(shown)}`
}

interface Example {
  readonly summary: string
  readonly value: unknown
}

function examplesOf(content: JsonObject): Example[] {
  if (content["example"] !== undefined) return [{ summary: "", value: content["example"] }]
  return Object.values((content["examples"] ?? {}) as Record<string, Example>)
}

interface Inputs {
  readonly parameters: readonly Parameter[]
  readonly headers: readonly Parameter[]
}

function tryIt({ method, path }: OperationView, { parameters, headers }: Inputs, body: JsonObject | undefined): Html {
  const content = ((body?.["content"] ?? {}) as Record<string, JsonObject>)["application/json"]
  const field = ({ name, in: place, required }: Parameter) =>
    html`<label>${name}<input data-in="${place}" name="${name}"${required ? html` required` : noHtml} autocomplete="off"></label>`
  const example = JSON.stringify((content && examplesOf(content)[0]?.value) ?? {}, null, 2)
  return html`<details class="try"><summary>Try it</summary><form data-method="${method}" data-path="${path}">${parameters.map(field)}${
    content ? html`<label>Body<textarea name="body" rows="6" spellcheck="false">${example}</textarea></label>` : noHtml
  }<details><summary>Headers</summary>${headers.map(field)}</details><pre class="command" aria-label="The same as a command"></pre><button>Send</button><pre class="outcome" aria-live="polite" hidden></pre></form></details>`
}

function resolved(value: JsonObject, resolve: Resolve): JsonObject {
  return typeof value["$ref"] === "string" ? (resolve(value["$ref"]) ?? {}) : value
}
