// The public routes of pages.
import { Clock, defineRoute, PublicUrl } from "#core"
import { PipelineEngine } from "#core/engine"
import { takeForm } from "./form.ts"
import { PageParts, Serving } from "./parts.ts"

const whose = { org: "Slug of the organization.", page: "Slug of the page." }
const fields = { type: "object", additionalProperties: true }

export const servePage = defineRoute({
  name: "pages.serve",
  summary: "A published page, in the visitor's variant.",
  method: "GET",
  path: "/p/{org}/{page}",
  whilePaused: "Asks Pauses once the slug names the organization.",
  inject: { serving: Serving },
  document: {
    description:
      "HTML with the page's envelope and beacon; forms without an action are sent to the same address. The variant depends on visitor and page. `utm_*` and click ids in the URL become the visit's campaign.",
    path: whose,
    query: { variant: "Shows this variant, as test traffic; requires `Authorization: Bearer` with a key of the organization." },
    answers: {
      "200": { description: "The page.", type: "text/html" },
      "308": { description: "Pages are served from another origin (`plugins.settings.pages.origin`)." },
      "403": { description: "The organization is archived or suspended." },
      "404": { description: "The page does not exist, or is not published.", type: "text/html" },
    },
  },
  handle: ({ request, deps }) => deps.serving.serve(request),
})

export const sendForm = defineRoute({
  name: "pages.send_form",
  summary: "A form of a published page.",
  method: "POST",
  path: "/p/{org}/{page}",
  whilePaused: "Asks Pauses once the slug names the organization.",
  // The pipeline has its own limits for fields and files.
  maxBodyBytes: 16_777_216,
  document: {
    description:
      "Target of the page's forms, with and without scripts: the fields are the event of the newest active `record_capture` pipeline of the page. The envelope's page is always that of the URL; visitor, session, variant and campaign are the body's, or derived from the request. A browser that navigates is redirected to the page's `#thank-you`, unless the pipeline's `respond` says otherwise; scripts get the pipeline's answer.",
    path: whose,
    body: {
      description: "The form's fields; `_envelope.*` is added when the page is served, and optional.",
      content: {
        "application/x-www-form-urlencoded": { schema: fields },
        "multipart/form-data": { schema: fields },
        "application/json": { schema: fields },
      },
    },
    answers: {
      "200": { description: "The pipeline's response, for requests that do not accept HTML.", type: "application/json" },
      "303": { description: "Accepted; `Location` is the page at `#thank-you`." },
      "400": { description: "The pipeline rejected it; HTML for browsers that navigate.", type: "text/html" },
      "403": { description: "The organization is archived or suspended." },
      "404": { description: "The page does not exist, or no active pipeline takes its forms; nothing is stored.", type: "text/html" },
      "429": { description: "Too many events in flight; `Retry-After` says when to retry." },
    },
  },
  origins: "any",
  inject: { serving: Serving, parts: PageParts, engine: PipelineEngine, publicUrl: PublicUrl, clock: Clock },
  handle: ({ request, deps: { clock, ...deps } }) => takeForm({ ...deps, now: () => clock.now() }, request),
})
