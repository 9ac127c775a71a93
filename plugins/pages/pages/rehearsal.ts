// Creates a published page for rehearsals of pipelines owned by a page.
import type { RehearsalContext } from "#core/engine"
import { publishPage } from "./operations/pages.ts"
import { PageResource } from "./page.ts"

export async function rehearsedPage({ call }: RehearsalContext): Promise<string> {
  const page = await call(PageResource.create, { title: "Page", variants: [{ key: "control", html: "<p>Page</p>" }] })
  await call(publishPage, { slug: page.id })
  return page.id
}
