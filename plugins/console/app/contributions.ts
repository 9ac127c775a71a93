// Contributions of areas to the console: screens and cards, from their own folders. The bundler collects them. The console has no
// built-in list of areas.
import type { ComponentType } from "preact"
import { capital, may, operations, type Row, words } from "./api.ts"

/** A whole page of the console. */
export interface Screen {
  /** Path below `/console`; braces capture a segment: `datasets/{slug}/rows`. Replaces the generic view of the same path. */
  readonly path: string
  readonly title: string
  /** Required operations. The screen is hidden if the caller lacks the right to one of them. */
  readonly needs: readonly string[]
  /** Position among the links. Without it, other pages link here. A path with braces has no position. */
  readonly navigation?: { readonly group: Group; readonly order?: number }
  /** `() => import("./rows.tsx")`: loaded on first display. */
  readonly load: () => Promise<{ readonly default: ComponentType<ScreenProps> }>
}

/** A part of the overview. */
export interface Card {
  readonly title: string
  readonly needs: readonly string[]
  readonly order?: number
  /** Spans the overview's whole width. */
  readonly isWide?: boolean
  readonly load: () => Promise<{ readonly default: ComponentType }>
}

export interface ScreenProps {
  /** Values of the braces in the path. */
  readonly params: Readonly<Record<string, string>>
}

/** A contribution to a screen of another area. The other screen decides its place. */
export interface Part {
  /** Path of the screen. `frame`: above every screen; `no-organization`: the only content for a person without an organization. */
  readonly of: string
  /** Name in the URL. */
  readonly name: string
  readonly title: string
  readonly needs: readonly string[]
  readonly load: () => Promise<{ readonly default: ComponentType<PartProps> }>
}

export interface PartProps {
  /** The displayed resource, as returned by its operation. */
  readonly subject: Row
}

/** Headings of the navigation, in order. */
export const groups = ["Now", "Data", "Growth", "Delivery", "Agents", "Settings"] as const
export type Group = (typeof groups)[number]

/** Options for the generic view of an area. All fields are optional. */
export interface View {
  /** Prefix of the operation names, before the dot. */
  readonly area: string
  readonly title?: string
  /** Description in one sentence. */
  readonly about?: string
  /** Without it, the area is under `More`. `elsewhere`: other screens link to it. */
  readonly navigation?: { readonly group: Group; readonly order?: number } | "elsewhere"
  /**
   * Columns of lists, by the list field of the response. `actor.surface as way in` is a nested field with a title. Replaces the
   * columns declared by operations.
   */
  readonly columns?: Readonly<Record<string, readonly string[]>>
  /** Fields at the top of a resource. The other fields fold. */
  readonly first?: readonly string[]
  /** Fields used as a resource's name. The first field with a value comes before title, name, slug and key. */
  readonly called?: readonly string[]
  /** Lists of a resource, in order. Other lists follow. */
  readonly lists?: readonly string[]
  /** True: the palette offers resources of the area by name. */
  readonly isSought?: boolean
}

/** A search for text typed or pasted into the palette. */
export interface Finder {
  /** `Find among events`. */
  readonly title: string
  readonly needs: readonly string[]
  /** The result screen below `/console`, and the URL field for the text. */
  readonly path: string
  readonly field: string
}

/** The default export of an area's `console/screens.ts`. */
export interface Contribution {
  readonly screens?: readonly Screen[]
  readonly cards?: readonly Card[]
  readonly parts?: readonly Part[]
  readonly views?: readonly View[]
  readonly finders?: readonly Finder[]
}

let contributions: readonly Contribution[] = []

export function contribute(parts: readonly Contribution[]): void {
  contributions = parts
}

/** Returns the screens permitted for the role. */
export function screens(): Screen[] {
  return contributions.flatMap((contribution) => contribution.screens ?? []).filter(isUsable)
}

export function cards(): Card[] {
  return contributions
    .flatMap((contribution) => contribution.cards ?? [])
    .filter(isUsable)
    .sort((a, b) => (a.order ?? 100) - (b.order ?? 100))
}

export function partsOf(path: string): Part[] {
  return contributions.flatMap((contribution) => contribution.parts ?? []).filter((part) => part.of === path && isUsable(part))
}

export function finders(): Finder[] {
  return contributions.flatMap((contribution) => contribution.finders ?? []).filter(isUsable)
}

/** Returns areas with resources in the palette. */
export function searchedAreas(): string[] {
  return contributions.flatMap((contribution) => contribution.views ?? []).flatMap(({ area, isSought }) => (isSought ? [area] : []))
}

/** The title is always set. */
export function viewOf(area: string): View & { readonly title: string } {
  const title = capital(words(area))
  return { area, title, ...contributions.flatMap((contribution) => contribution.views ?? []).find((view) => view.area === area) }
}

function isUsable({ needs }: { readonly needs: readonly string[] }): boolean {
  return needs.every(mayCall)
}

/** Returns true if the service has the operation and the role permits it. */
export function mayCall(name: string): boolean {
  const operation = operations.value.find((candidate) => candidate.name === name)
  return operation !== undefined && may(operation)
}

export interface ScreenMatch {
  readonly screen: Screen
  readonly params: Readonly<Record<string, string>>
}

/** Returns the screen of a place. Among several screens, the fewest braces win. */
export function screenAt(parts: readonly string[]): ScreenMatch | undefined {
  return screens()
    .flatMap((screen) => {
      const params = paramsOf(screen.path, parts)
      return params ? [{ screen, params }] : []
    })
    .sort((a, b) => Object.keys(a.params).length - Object.keys(b.params).length)[0]
}

function paramsOf(path: string, parts: readonly string[]): Record<string, string> | undefined {
  const pattern = path.split("/")
  if (pattern.length !== parts.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const expected = pattern[index] ?? ""
    const name = /^\{(\w+)\}$/.exec(expected)?.[1]
    if (name !== undefined && part !== "-") params[name] = part
    else if (expected !== part) return undefined
  }
  return params
}
