// What areas put into the console from folders of their own: screens, and cards of the overview. The console learns of them
// when its script is bundled, and knows no area by name.
import type { ComponentType } from "preact"
import { capital, may, operations, type Row, words } from "./api.ts"

/** A whole page of the console. */
export interface Screen {
  /** Below `/console`; braces take a segment: `datasets/{slug}/rows`. Goes before the generic view of the same place. */
  readonly path: string
  readonly title: string
  /** Operations without which it is of no use: who may not call each of them does not see it. */
  readonly needs: readonly string[]
  /** Its place among the links; without one, other pages lead to it. A path with braces has none. */
  readonly navigation?: { readonly group: Group; readonly order?: number }
  /** `() => import("./rows.tsx")`: loaded when it is shown. */
  readonly load: () => Promise<{ readonly default: ComponentType<ScreenProps> }>
}

/** A part of the overview. */
export interface Card {
  readonly title: string
  readonly needs: readonly string[]
  readonly order?: number
  /** Over the overview's whole width. */
  readonly isWide?: boolean
  readonly load: () => Promise<{ readonly default: ComponentType }>
}

export interface ScreenProps {
  /** What the braces of the path took. */
  readonly params: Readonly<Record<string, string>>
}

/** What an area adds to a screen of another, which shows it where that has a place for such. */
export interface Part {
  /** The path of that screen; `frame`: above every screen; `no-organization`: all that a person without an organization sees. */
  readonly of: string
  /** In the address. */
  readonly name: string
  readonly title: string
  readonly needs: readonly string[]
  readonly load: () => Promise<{ readonly default: ComponentType<PartProps> }>
}

export interface PartProps {
  /** What the screen shows, as its operation answers it. */
  readonly subject: Row
}

/** Headings of the navigation, in their order. */
export const groups = ["Now", "Data", "Growth", "Delivery", "Agents", "Settings"] as const
export type Group = (typeof groups)[number]

/** How the console shows an area that it makes of its operations; each field may be left out. */
export interface View {
  /** What stands before the dot in the names of its operations. */
  readonly area: string
  readonly title?: string
  /** What it is, in a sentence. */
  readonly about?: string
  /** Without it, the area stands under `More`; `elsewhere`: screens of others lead to it. */
  readonly navigation?: { readonly group: Group; readonly order?: number } | "elsewhere"
  /** Columns of lists, by the answer's field that holds them; `actor.surface as way in` is a field within one, with a title. In place of those that operations declare. */
  readonly columns?: Readonly<Record<string, readonly string[]>>
  /** Fields of one that stand at its top; the others fold. */
  readonly first?: readonly string[]
  /** Fields that one is called by, of which the first that holds something is taken, before its title, name, slug or key. */
  readonly called?: readonly string[]
  /** Lists of one, in their order; others follow. */
  readonly lists?: readonly string[]
  /** Its things are gone to by their names in the palette. */
  readonly isSought?: boolean
}

/** Looks for a text that somebody has typed or pasted into the palette. */
export interface Finder {
  /** `Find among events`. */
  readonly title: string
  readonly needs: readonly string[]
  /** The screen that shows what is found, below `/console`, and the name in its address that takes the text. */
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

/** Those that the role may use. */
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

/** Areas whose things the palette knows by their names. */
export function searchedAreas(): string[] {
  return contributions.flatMap((contribution) => contribution.views ?? []).flatMap(({ area, isSought }) => (isSought ? [area] : []))
}

/** With a title in any case. */
export function viewOf(area: string): View & { readonly title: string } {
  const title = capital(words(area))
  return { area, title, ...contributions.flatMap((contribution) => contribution.views ?? []).find((view) => view.area === area) }
}

function isUsable({ needs }: { readonly needs: readonly string[] }): boolean {
  return needs.every(mayCall)
}

/** Whether the service has the operation, and the role is enough. */
export function mayCall(name: string): boolean {
  const operation = operations.value.find((candidate) => candidate.name === name)
  return operation !== undefined && may(operation)
}

export interface ScreenMatch {
  readonly screen: Screen
  readonly params: Readonly<Record<string, string>>
}

/** The screen of a place; of several, the one with the fewest braces. */
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
