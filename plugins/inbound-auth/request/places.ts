// Places of values in a request, in the syntax of the provider table: `header:x-event-id`, `query:signature`, `body:data.id`.
// Alternatives are tried in order.
import type { Proof } from "#core"
import type { RequestView } from "./view.ts"

/** Header names may end in `-*` for numbered headers (`-1`, `-2`, ... up to `-100`). */
export function expandPlaces(view: RequestView, places: readonly string[]): string[] {
  return places.flatMap((place) => {
    if (!place.endsWith("-*")) return [place]
    const stem = place.slice(0, -1)
    return Array.from({ length: 100 }, (_, index) => `${stem}${index + 1}`).filter((numbered) => valueAt(view, numbered) !== undefined)
  })
}

/** Returns the single value at a place, or undefined if it is absent, empty or repeated. */
export function valueAt(view: RequestView, place: string): string | undefined {
  const colon = place.indexOf(":")
  const name = place.slice(colon + 1)
  switch (place.slice(0, colon)) {
    case "header":
      return view.header(name) || undefined
    case "query":
      return view.query(name) || undefined
    default: {
      const values = view.body(name)
      return values.length === 1 ? values[0] || undefined : undefined
    }
  }
}

/** Returns the first value among several places. */
export function firstValueAt(view: RequestView, places: readonly string[]): string | undefined {
  for (const place of places) {
    const value = valueAt(view, place)
    if (value !== undefined) return value
  }
  return undefined
}

export function proofOf(places: readonly string[]): Proof {
  const namesOf = (kind: string) => places.filter((place) => place.startsWith(`${kind}:`)).map((place) => place.slice(kind.length + 1))
  const [headers, query, body] = [namesOf("header"), namesOf("query"), namesOf("body")]
  return {
    ...(headers.length > 0 && { headers }),
    ...(query.length > 0 && { query }),
    ...(body.length > 0 && { body }),
  }
}

/** Formats places for messages: `header x-signature`, or a list of alternatives. */
export function describePlaces(places: readonly string[]): string {
  return places.map((place) => place.replace(":", " ")).join(" or ")
}
