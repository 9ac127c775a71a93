// Connections called by a document's steps. A step fails if its connection is missing, private or failing.
import type { Finding, PipelineDocument } from "#core/engine"
import type { Integrations } from "../../agents/integrations/index.ts"

type Steps = Pick<PipelineDocument, "pipeline" | "handlers">

interface MissingConnection extends Finding {
  /** Name of the connection in the step, in lower case. */
  readonly connection: string
}

/** Returns a finding for each step whose connection is missing or private. */
export async function missingConnections(
  integrations: Pick<Integrations, "find">,
  organization: string,
  document: Steps,
): Promise<MissingConnection[]> {
  return missingAmong(await foundCalls(integrations, organization, document))
}

/** Returns a warning for each connection that is missing, private or failing. */
export async function connectionWarnings(
  integrations: Pick<Integrations, "find">,
  organization: string,
  document: Steps,
): Promise<string[]> {
  const calls = await foundCalls(integrations, organization, document)
  const failing = calls.flatMap(({ connection }) => {
    if (connection?.health.status !== "failing") return []
    const { slug, health } = connection
    return [`The connection "${slug}" has been failing since ${health.since} (${health.reason}): ${health.message}`]
  })
  return [...new Set([...missingAmong(calls).map(({ rule, message }) => `${rule}: ${message}`), ...failing])]
}

/** Returns the slugs and ids that the steps name as their integration, in lower case. */
export function namedConnections(document: Steps): Set<string> {
  return new Set(callsOf(document).map(({ ref }) => ref))
}

function missingAmong(calls: Awaited<ReturnType<typeof foundCalls>>): MissingConnection[] {
  return calls.flatMap(({ ref, pointer, connection }) => {
    if (connection) return []
    const message = `The integration ${JSON.stringify(ref)} does not exist or is private, so events fail at this step. Connect it with share_with_org (POST /v1/integrations-connect), or share it (PATCH /v1/integrations/${ref}).`
    return [{ rule: "missing-connection", level: "warning" as const, message, pointer, connection: ref }]
  })
}

async function foundCalls(integrations: Pick<Integrations, "find">, organization: string, document: Steps) {
  const calls = callsOf(document)
  const refs = [...new Set(calls.map(({ ref }) => ref))]
  const found = new Map(await Promise.all(refs.map(async (ref) => [ref, await integrations.find(organization, ref)] as const)))
  return calls.map((call) => ({ ...call, connection: found.get(call.ref) }))
}

function callsOf({ pipeline, handlers }: Steps): { readonly ref: string; readonly pointer: string }[] {
  const steps = [
    ...pipeline.map((step, index) => ({ step, pointer: `/pipeline/${index}/integration` })),
    ...Object.entries(handlers).map(([name, step]) => ({ step, pointer: `/handlers/${escaped(name)}/integration` })),
  ]
  return steps.flatMap(({ step, pointer }) => {
    const { integration } = step as { readonly integration?: unknown }
    return typeof integration === "string" ? [{ ref: integration.toLowerCase(), pointer }] : []
  })
}

function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1")
}
