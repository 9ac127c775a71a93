// docs/reference/auth-modes: an index, and a page for each auth mode with its `auth_config` and a signed example request. The
// mode itself signs the request.
import { parse } from "yaml"
import type { AnyAuthMode, AuthModeExample, InboundRequest } from "../../contract/auth-mode.ts"
import type { Json } from "../../contract/collection.ts"
import { byName, fenced, fieldsOf, fieldTable, generatedNote, pageOf, table } from "../markdown.ts"

/** Texts by path. */
export async function authModePages(modes: readonly AnyAuthMode[]): Promise<Record<string, string>> {
  const sorted = byName(modes, ({ mode }) => mode)
  const rows = sorted.map(({ mode, summary }) => [`[\`${mode}\`](auth-modes/${mode}.md)`, summary])
  const index = pageOf([
    generatedNote("the auth modes' declarations"),
    "# Auth modes",
    "How the senders of a pipeline's events are verified: `auth_mode`, and its fields in `auth_config`. The verification secret (`auth_config.secret`) is stored separately, encrypted; in files it is `{ from_env: NAME }`.",
    table(["auth mode", ""], rows),
  ])
  const pages: Record<string, string> = { "docs/reference/auth-modes.md": index }
  for (const mode of sorted) pages[`docs/reference/auth-modes/${mode.mode}.md`] = await page(mode)
  return pages
}

async function page(mode: AnyAuthMode): Promise<string> {
  const { summary, description, config, examples = [] } = mode
  const shown = await Promise.all(examples.map((example) => exampleOf(mode, example)))
  return pageOf([
    generatedNote("the auth mode's declaration"),
    `# ${mode.mode}`,
    [summary, description].filter(Boolean).join(" "),
    "## Fields of auth_config",
    fieldTable(fieldsOf(config)),
    ...(shown.length === 0 ? [] : ["## Examples", ...shown.flat()]),
  ])
}

async function exampleOf(mode: AnyAuthMode, example: AuthModeExample): Promise<string[]> {
  const request = await signedRequest(mode, example)
  const yaml = fenced("yaml", example.yaml.trim())
  if (!request) return [`${example.title}:`, yaml]
  return [
    `${example.title}:`,
    yaml,
    `With the secret \`${request.secret}\` this request verifies at ${shownTime}:`,
    fenced("http", request.text),
  ]
}

const shownTime = "2026-01-15T09:30:00Z"
const shownBody = JSON.stringify({ email: "ada@example.com" })

/** Returns the signed request of a sender with the secret. Undefined if the mode has no secret or cannot sign for tests. */
async function signedRequest(mode: AnyAuthMode, { yaml }: AuthModeExample): Promise<{ secret: string; text: string } | undefined> {
  const { auth_config = {} } = parse(yaml) as { auth_config?: Record<string, Json> }
  const { secret: _, ...given } = auth_config
  const config: unknown = mode.config.parse(given)
  if (mode.secret(config) === "none" || !mode.sign) return undefined
  const secret = mode.testSecret?.(config) ?? "whsec_an-example-that-nobody-should-use"
  const path = "/v1/inbound/in_0123456789ABCDEFGHIJKL"
  const request: InboundRequest = {
    method: "POST",
    url: `https://millrace.example.com${path}`,
    headers: { "content-type": "application/json" },
    query: {},
    body: Buffer.from(shownBody),
    receivedAt: Date.parse(shownTime),
  }
  const pipeline = { id: "", organization_id: "", owner_artifact_id: null }
  const { headers = {} } = await mode.sign({ config, secret, request, pipeline, deps: {} as never })
  const lines = Object.entries({ host: "millrace.example.com", "content-type": "application/json", ...headers })
  return { secret, text: [`POST ${path}`, ...lines.map(([name, value]) => `${name}: ${value}`), "", shownBody].join("\n") }
}
