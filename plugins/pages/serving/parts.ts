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

export interface PageParts {
  /** To be called while services are created. */
  forms(target: FormTarget): void
  events(target: EventTarget): void
  readonly formTarget: FormTarget
  readonly eventTarget: EventTarget
}

export const PageParts = token<PageParts>("PageParts")

export function createPageParts(): PageParts {
  let forms: FormTarget = async () => undefined
  let events: EventTarget = async () => undefined
  return {
    forms(target) {
      forms = target
    },
    events(target) {
      events = target
    },
    formTarget: (organization, page) => forms(organization, page),
    eventTarget: (organization, page) => events(organization, page),
  }
}
