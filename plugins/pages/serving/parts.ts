// What other plugins bring to a served page: where its forms go, and where its events go. Pages know neither pipelines
// nor analytics; a page without such plugins is served bare.
import { token } from "#core"
import type { StoredPage } from "../collections.ts"

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

export interface PageParts {
  /** To be called while services are created. */
  forms(target: FormTarget, problemOfField?: FieldProblem): void
  events(target: EventTarget): void
  readonly formTarget: FormTarget
  readonly problemOfField: FieldProblem
  readonly eventTarget: EventTarget
}

export const PageParts = token<PageParts>("PageParts")

export function createPageParts(): PageParts {
  let forms: FormTarget = async () => undefined
  let problemOfField: FieldProblem = () => undefined
  let events: EventTarget = async () => undefined
  return {
    forms(target, problem = problemOfField) {
      forms = target
      problemOfField = problem
    },
    events(target) {
      events = target
    },
    formTarget: (organization, page) => forms(organization, page),
    problemOfField: (name) => problemOfField(name),
    eventTarget: (organization, page) => events(organization, page),
  }
}
