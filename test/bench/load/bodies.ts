// Request bodies in ASCII: leads of a given size with one email each, or batches of a page's beacon. Pure.

export type BodySpec =
  /** `artifact`: page in the body's envelope. */
  | { readonly kind: "lead"; readonly bytes: number; readonly artifact?: string }
  /** A batch of one visitor's events. */
  | { readonly kind: "batch"; readonly events: number; readonly artifact: string }

export interface Made {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** `name` is unique to this body. */
export function bodyOf(spec: BodySpec, name: string, index: number): Made {
  return spec.kind === "lead"
    ? { body: leadOf(`${name}@example.com`, spec.bytes, spec.artifact), headers: {} }
    : { body: batchOf(name, spec.events, spec.artifact), headers: { "user-agent": browserOf(index % visitors) } }
}

function leadOf(email: string, bytes: number, artifact: string | undefined): string {
  const lead = {
    email,
    name: "Ada Lovelace",
    company: "Analytical Engines Ltd",
    budget: 12500,
    message: "",
    tags: ["demo", "pricing"],
    consent: true,
    ...(artifact === undefined ? {} : { _envelope: { artifact_id: artifact } }),
  }
  lead.message = "x".repeat(Math.max(0, bytes - JSON.stringify(lead).length))
  return JSON.stringify(lead)
}

const visitors = 2_000
const depths = [25, 50, 75, 90, 100]

function batchOf(name: string, count: number, artifact: string): string {
  const events = Array.from({ length: count }, (_, index) => {
    const event_id = `${name}-${index}`.padStart(12, "0")
    if (index === 0) return { event: "pageview", event_id }
    if (index <= depths.length) return { event: "scroll_milestone", event_id, scroll_depth: depths[index - 1] }
    return { event: "section_view", event_id, section: `section-${index}` }
  })
  return JSON.stringify({ _envelope: { artifact_id: artifact, page_url: "https://acme.test/p/bench", utm_source: "newsletter" }, events })
}

/** Visitors are distinguished by address and user agent. */
function browserOf(visitor: number): string {
  return `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.${visitor}.0 Safari/537.36`
}
