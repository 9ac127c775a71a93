// A published page of the service under test.
import type { Service } from "../service/service.ts"

export interface PublishedPage {
  readonly id: string
  /** Target URL of its beacon's events. */
  readonly events_url: string
}

export async function publishPage(service: Service): Promise<PublishedPage> {
  const variants = [{ key: "a", html: "<h1>Bench</h1>" }]
  const { id, slug } = await service.api<{ id: string; slug: string }>("POST", "/v1/pages", { title: "Bench", variants })
  await service.api("POST", `/v1/pages/${slug}/publish`, {})
  const { inbound_url } = await service.api<{ inbound_url: string }>("GET", `/v1/event-pipelines/page-events-${slug}`)
  return { id, events_url: inbound_url }
}
