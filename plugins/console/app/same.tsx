// The current action as a command and as an HTTP request.
import { type Operation, operations } from "./api.ts"
import { Copy } from "./buttons.tsx"
import { pathFields } from "./paths.ts"
import { offered } from "./submit.ts"
import { visible } from "./value.tsx"

/** Finds the operation by name. Empty if the service lacks the operation. */
export function SameAs({ name, input }: { readonly name: string; readonly input: Readonly<Record<string, unknown>> }) {
  const operation = operations.value.find((candidate) => candidate.name === name)
  return operation ? <CallExamples operation={operation} input={input} /> : null
}

/** Examples for the buttons of this place, one for each operation. */
export function SameAsButtons() {
  const inputs = new Map(offered.value.flatMap(({ name, known: input }) => (input ? [[name, input] as const] : [])).reverse())
  return [...inputs].reverse().map(([name, input]) => <SameAs key={name} name={name} input={input} />)
}

export function CallExamples({ operation, input }: { readonly operation: Operation; readonly input: Readonly<Record<string, unknown>> }) {
  return (
    <details class="same">
      <summary>
        The same by command and by HTTP <code>{operation.name}</code>
      </summary>
      <Copied name="command" text={commandOf(operation, input)} />
      <Copied name="HTTP" text={curlOf(operation, input)} />
    </details>
  )
}

/** A text with a copy button. */
export function Copied({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <div class="copied">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard */}
      <pre tabIndex={0}>{visible(text)}</pre>
      <Copy text={text} name={name} />
    </div>
  )
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
const plain = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value))
const shell = (value: unknown) => (/^[\w.@:/-]+$/.test(plain(value)) ? plain(value) : quote(plain(value)))

/** Path fields are arguments. Lists, objects and booleans go into a file. */
function commandOf(operation: Operation, input: Readonly<Record<string, unknown>>): string {
  const inPath = pathFields(operation)
  const fields = Object.entries(input).filter(([field]) => !inPath.includes(field))
  const isFlag = ([, value]: [string, unknown]) => typeof value === "string" || typeof value === "number"
  const flags = fields.filter(isFlag).map(([field, value]) => `--${field.replaceAll("_", "-")} ${shell(value)}`)
  const bodyFields = fields.filter((field) => !isFlag(field))
  const name = operation.name.replaceAll("_", "-").split(".")
  const words = ["millrace", ...name, ...inPath.filter((field) => field in input).map((field) => shell(input[field])), ...flags]
  if (bodyFields.length === 0) return words.join(" ")
  return `echo ${quote(JSON.stringify(Object.fromEntries(bodyFields)))} | ${words.join(" ")} --file -`
}

function curlOf(operation: Operation, input: Readonly<Record<string, unknown>>): string {
  const { method, path } = operation
  const inPath = pathFields(operation)
  const bodyFields = Object.entries(input).filter(([name]) => !inPath.includes(name))
  const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(plain(input[name] ?? "")))
  const reads = method === "GET" || method === "DELETE"
  const query = reads && bodyFields.length > 0 ? `?${new URLSearchParams(bodyFields.map(([name, value]) => [name, plain(value)]))}` : ""
  const body = reads ? "" : ` -H 'content-type: application/json' -d ${quote(JSON.stringify(Object.fromEntries(bodyFields)))}`
  const verb = method === "GET" ? "" : ` -X ${method}`
  return `curl${verb} ${quote(location.origin + filled + query)} -H "authorization: Bearer $MILLRACE_KEY"${body}`
}
