// Reads the provider's event ID and type from a verified request. A template such as `{body:meta.action}.{body:meta.entity}`
// returns undefined if a part is missing or a batch has differing values. A partial ID would merge distinct events.
import type { RequestView } from "./view.ts"

const longest = 512

export type Lift = (view: RequestView) => string | undefined

/** Alternatives are tried in order. */
export function compileLift(templates: readonly string[] | undefined): Lift {
  const compiled = (templates ?? []).map(compileOne)
  return (view) => {
    for (const lift of compiled) {
      const value = lift(view)
      if (value !== undefined && value !== "" && value.length <= longest) return value
    }
    return undefined
  }
}

function compileOne(template: string): Lift {
  const parts = template
    .split(/(\{[^}]+\})/)
    .filter((part) => part !== "")
    .map(compilePart)
  return (view) => {
    let out = ""
    for (const part of parts) {
      const text = part(view)
      if (text === undefined) return undefined
      out += text
    }
    return out
  }
}

function compilePart(part: string): Lift {
  const reference = /^\{(header|body|first_key):?(.*)\}$/.exec(part)
  if (!reference) return () => part
  const [, kind, name = ""] = reference
  if (kind === "header") return (view) => oneOf(view.request.headers[name])
  if (kind === "first_key") return (view) => firstKey(view.document, name)
  const path = parsePath(name)
  return (view) => oneOf(scalarsAt(view.document, path))
}

function oneOf(value: string | readonly string[] | undefined): string | undefined {
  if (value === undefined || typeof value === "string") return value
  return value.every((item) => item === value[0]) ? value[0] : undefined
}

/** Returns the first top-level key except the named one. Some providers use this key as the kind of event. */
function firstKey(document: unknown, except: string): string | undefined {
  if (typeof document !== "object" || document === null || Array.isArray(document)) return undefined
  return Object.keys(document).find((key) => key !== except)
}

type Path = readonly string[]

const everyElement = "[]"

/** Parses dotted paths into a body: `data.id`, `entry[].changes[].field`, `[].sg_event_id`. `[]` means every element. */
export function parsePath(text: string): Path {
  return text
    .replaceAll("[]", `.${everyElement}`)
    .split(".")
    .filter((segment) => segment !== "")
}

/** Returns every scalar at the path as text. Numbers keep their digits. */
export function scalarsAt(document: unknown, path: Path): string[] {
  let level: unknown[] = [document]
  for (const segment of path) {
    const next: unknown[] = []
    for (const value of level) {
      if (segment === everyElement) {
        if (Array.isArray(value)) for (const element of value) next.push(element)
      } else if (typeof value === "object" && value !== null && Object.hasOwn(value, segment)) {
        next.push((value as Record<string, unknown>)[segment])
      }
    }
    level = next
  }
  return level.filter(isScalar).map(String)
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
}
