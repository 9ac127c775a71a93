// The public routes of pages.
import { Clock, defineRoute, PipelineEngine, PublicUrl, token } from "#core"
import { takeForm } from "./form.ts"
import { PageParts } from "./parts.ts"
import type { PageServing } from "./serve.ts"

export const Serving = token<PageServing>("PageServing")

export const servePage = defineRoute({
  name: "pages.serve",
  summary: "A published page, as this visitor sees it.",
  method: "GET",
  path: "/p/{org}/{page}",
  inject: { serving: Serving },
  handle: ({ request, deps }) => deps.serving.serve(request),
})

export const sendForm = defineRoute({
  name: "pages.send_form",
  summary: "A form of a published page.",
  method: "POST",
  path: "/p/{org}/{page}",
  maxBodyBytes: 1_048_576,
  origins: "any",
  inject: { serving: Serving, parts: PageParts, engine: PipelineEngine, publicUrl: PublicUrl, clock: Clock },
  handle: ({ request, deps: { clock, ...deps } }) => takeForm({ ...deps, now: () => clock.now() }, request),
})
