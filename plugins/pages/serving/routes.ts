// The public routes of pages.
import { Clock, defineRoute, PublicUrl, token } from "#core"
import { PipelineEngine } from "#core/engine"
import { takeForm } from "./form.ts"
import { PageParts } from "./parts.ts"
import type { PageServing } from "./serve.ts"

export const Serving = token<PageServing>("PageServing")

const whose = { org: "Slug of the organization.", page: "Slug of the page." }
const fields = { type: "object", additionalProperties: true }

export const servePage = defineRoute({
  name: "pages.serve",
  summary: "A published page, as this visitor sees it.",
  method: "GET",
  path: "/p/{org}/{page}",
  inject: { serving: Serving },
  document: {
    description:
      "HTML, with the page's envelope and the beacon put in; forms without an action are sent to the same address. Which variant is shown follows from visitor and page. `utm_*` and click ids in the address become the visit's campaign.",
    path: whose,
    query: { variant: "Shows this variant, as test traffic; counts only beside `Authorization: Bearer` with a key of the organization." },
    answers: {
      "200": { description: "The page.", type: "text/html" },
      "308": { description: "Pages have an origin of their own (`plugins.settings.pages.origin`), and this is not it." },
      "404": { description: "There is no such page, or it is not published.", type: "text/html" },
    },
  },
  handle: ({ request, deps }) => deps.serving.serve(request),
})

export const sendForm = defineRoute({
  name: "pages.send_form",
  summary: "A form of a published page.",
  method: "POST",
  path: "/p/{org}/{page}",
  maxBodyBytes: 1_048_576,
  document: {
    description:
      "Where the forms of a page are sent, with and without scripts: the fields are the event of the newest active `record_capture` pipeline of the page. The event's envelope names the page of the address, whatever the body says; visitor, session, variant and campaign are the body's, or as far as the request tells. A browser that navigated is sent on to the page's `#thank-you`, unless the pipeline's `respond` says otherwise; scripts get the pipeline's answer.",
    path: whose,
    body: {
      description: "The form's fields; those named `_envelope.*` were put in when the page was served, and may be left out.",
      content: {
        "application/x-www-form-urlencoded": { schema: fields },
        "multipart/form-data": { schema: fields },
        "application/json": { schema: fields },
      },
    },
    answers: {
      "200": { description: "The pipeline's answer, to who asked for no HTML.", type: "application/json" },
      "303": { description: "Accepted; `Location` is the page at `#thank-you`." },
      "400": { description: "The pipeline refused it; in words for people who navigated.", type: "text/html" },
      "404": { description: "There is no such page, or no active pipeline takes its forms; nothing is kept.", type: "text/html" },
      "429": { description: "Too many at once; `Retry-After` says when to try again." },
    },
  },
  origins: "any",
  inject: { serving: Serving, parts: PageParts, engine: PipelineEngine, publicUrl: PublicUrl, clock: Clock },
  handle: ({ request, deps: { clock, ...deps } }) => takeForm({ ...deps, now: () => clock.now() }, request),
})
