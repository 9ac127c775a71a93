// What other plugins bring to a served page: where its forms go, and where its events go. Pages know neither pipelines
// nor analytics; a page without such plugins is served bare.
import { defineExtensionPoint, token } from "#core"
import type { StoredPage } from "../page.ts"
import type { PageServing } from "./serve.ts"

export interface Owner {
  readonly id: string
  readonly slug: string
}

/** Endpoint id of the pipeline that takes the page's forms; undefined when there is none. */
export type FormTarget = (organization: Owner, page: StoredPage) => Promise<string | undefined>

/** Endpoint id of the page's events, while they are wanted. */
export type EventTarget = (organization: Owner, page: StoredPage) => Promise<string | undefined>

/** What keeps a form's field of this name from being kept as it comes; undefined where nothing does. */
export type FieldProblem = (name: string) => string | undefined

export interface PageForms {
  readonly target: FormTarget
  readonly problemOfField: FieldProblem
}

/** The last item counts. */
export const PageFormTargets = defineExtensionPoint<PageForms>({ id: "pages.form-targets" })

/** The last item counts. */
export const PageEventTargets = defineExtensionPoint<EventTarget>({ id: "pages.event-targets" })

export interface PageParts {
  readonly formTarget: FormTarget
  readonly problemOfField: FieldProblem
  readonly eventTarget: EventTarget
}

export const PageParts = token<PageParts>("PageParts")

export const Serving = token<PageServing>("PageServing")

interface PartItems {
  readonly forms: readonly PageForms[]
  readonly events: readonly EventTarget[]
}

export function createPageParts({ forms, events }: PartItems): PageParts {
  return {
    formTarget: async (organization, page) => forms.at(-1)?.target(organization, page),
    problemOfField: (name) => forms.at(-1)?.problemOfField(name),
    eventTarget: async (organization, page) => events.at(-1)?.(organization, page),
  }
}
