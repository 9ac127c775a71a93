// Helpers for tests of pages' forms: a page with a form, a pipeline for its submissions, and the submission.
import { desktopChrome, type Loop, type Published } from "../page-events/loop.ts"

export const withForm = [{ key: "control", html: '<form id="f"><input name="email"></form>' }]
type Values = Record<string, unknown>

let drawn = 0

interface Capture {
  readonly slug: string
  readonly dataset: string
  rows(): Promise<Values[]>
}

/** Creates a pipeline that stores the page's submissions with their envelopes. */
export async function capture(loop: Loop, page: Published, more: (dataset: string) => object = () => ({})): Promise<Capture> {
  const name = `Leads ${++drawn}`
  const dataset = `leads-${drawn}`
  const { slug } = await loop.call<{ slug: string }>("POST", "/v1/event-pipelines", {
    name,
    state: "active",
    source_kind: "browser_form",
    auth_mode: "public_artifact",
    owner_artifact_id: page.id,
    pipeline: [
      {
        id: "save",
        type: "dataset.write",
        dataset_slug: dataset,
        key: "email",
        row: {
          email: "{{ event.email }}",
          number: "{{ event.number }}",
          session_id: "{{ envelope.session_id }}",
          visitor_id: "{{ envelope.visitor_id }}",
          utm_source: "{{ envelope.utm_source }}",
        },
      },
    ],
    ...more(dataset),
  })
  const at = `/v1/datasets/${dataset}/rows`
  return { slug, dataset, rows: async () => (await loop.call<{ rows: { values: Values }[] }>("GET", at)).rows.map(({ values }) => values) }
}

export function post(
  loop: Loop,
  path: string,
  body: string | URLSearchParams | FormData,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(loop.host.url + path, { method: "POST", redirect: "manual", headers: { "user-agent": desktopChrome, ...headers }, body })
}

export const asHtml = { accept: "text/html,*/*" }
export const asJson = { "content-type": "application/json" }
