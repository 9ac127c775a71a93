// Writes an event as a curl command for a POSIX shell.
import type { SenderRequest } from "#core/engine"
import type { CameIn } from "./came-in.ts"

export interface Curl {
  readonly curl: string
  readonly proof: "none" | "signed" | "secret" | "sender" | "key"
  readonly note: string
}

/** Bound in characters. Linux accepts at most 128 KiB per command argument. */
const maxArgument = 100_000

/** Returns a command that sends the event to the endpoint, as the sender does. */
export function asSenderCurl({ body, headers, contentType }: CameIn, { url, proof }: SenderRequest): Curl {
  const options = Object.entries({ ...headers, "content-type": contentType, ...proof.headers }).map(([name, value]) =>
    value === "" ? `-H ${quoted(`${name}: `)}${placeholder}` : `-H ${quoted(`${name}: ${value}`)}`,
  )
  const added = Object.entries(proof.query).map(([name, value], at) => {
    const joint = at > 0 || url.includes("?") ? "&" : "?"
    return quoted(`${joint}${encodeURIComponent(name)}=${encodeURIComponent(value)}`) + (value === "" ? placeholder : "")
  })
  return { curl: command(quoted(url) + added.join(""), options, body), proof: proof.kind, note: notes[proof.kind](proof) }
}

/** For pipelines without an endpoint: returns a command that sends an internal event through the API. */
export function asInternalCurl(url: string, json: string, isTest: boolean): Curl {
  const body = `{"payload":${json}${isTest ? ',"is_test":true' : ""}}`
  const options = ['-H "authorization: Bearer $MILLRACE_KEY"', "-H 'content-type: application/json'"]
  return { curl: command(quoted(url), options, body), proof: "key", note: "Set MILLRACE_KEY to an API key." }
}

const placeholder = '"$SENDER_PROOF"'

const notes: Readonly<Record<SenderRequest["proof"]["kind"], (proof: SenderRequest["proof"]) => string>> = {
  none: () => "",
  signed: () => "Signed now; where the sender's scheme has a time limit, it holds for that long.",
  secret: ({ headers, query }) =>
    `The sender shows its secret itself, which is not shown here: set SENDER_PROOF to what it puts into ${[...Object.keys(headers), ...Object.keys(query)].join(", ")}.`,
  sender: () => "Not signed: only the sender can sign this event, so that the service will refuse the command.",
}

function command(url: string, options: readonly string[], body: string): string {
  const lines = [`curl -sS -g -X POST ${url}`, ...options.map((option) => `  ${option}`)]
  if (body.length <= maxArgument) return [...lines, `  --data-raw ${quoted(body)}`].join(" \\\n")
  return `printf %s ${quoted(body)} | \\\n${[...lines, "  --data-binary @-"].join(" \\\n")}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
