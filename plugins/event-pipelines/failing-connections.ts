// Connections that a document's steps call and that are known to fail: its events would fail at those steps.
import type { PipelineDocument } from "#core/engine"
import type { Integrations } from "../integrations/index.ts"

/** A warning for each of them. */
export async function failingConnections(
  integrations: Pick<Integrations, "find">,
  organization: string,
  { pipeline, handlers }: Pick<PipelineDocument, "pipeline" | "handlers">,
): Promise<string[]> {
  const named = new Set([...namedIn(pipeline), ...namedIn(handlers)])
  const found = await Promise.all([...named].map((ref) => integrations.find(organization, ref)))
  return found.flatMap((connection) => {
    if (connection?.health.status !== "failing") return []
    const { slug, health } = connection
    return [`The connection "${slug}" has been failing since ${health.since} (${health.reason}): ${health.message}`]
  })
}

/** What steps name as their integration, at any depth. */
function namedIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namedIn)
  if (typeof value !== "object" || value === null) return []
  const { type, integration } = value as { readonly type?: unknown; readonly integration?: unknown }
  const own = typeof type === "string" && typeof integration === "string" ? [integration.toLowerCase()] : []
  return [...own, ...Object.values(value).flatMap(namedIn)]
}
