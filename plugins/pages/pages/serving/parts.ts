// Extension points of a served page: targets for its forms and its events. Pages depend on neither pipelines nor analytics.
// Without those plugins a page is served without targets.
import { defineExtensionPoint, token } from "#core"
import type { StoredPage } from "../page.ts"
import type { PageServing } from "./serve.ts"

export interface Owner {
  readonly id: string
  readonly slug: string
}

/** Returns the endpoint id of the pipeline for the page's forms; undefined if there is no such pipeline. */
export type FormTarget = (organization: Owner, page: StoredPage) => Promise<string | undefined>

/** Returns the endpoint id for the page's events, or undefined if analytics are off. */
export type EventTarget = (organization: Owner, page: StoredPage) => Promise<string | undefined>

/** Returns the obstacle to storing a form field of this name unchanged; undefined if there is no obstacle. */
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
