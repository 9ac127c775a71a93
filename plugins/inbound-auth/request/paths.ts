// Dotted paths into a parsed body: `data.id`, `entry[].changes[].field`, `[].sg_event_id`. `[]` means every element.

export type Path = readonly string[]

const everyElement = "[]"

export function parsePath(text: string): Path {
  return text
    .replaceAll("[]", `.${everyElement}`)
    .split(".")
    .filter((segment) => segment !== "")
}

/** Every scalar at the path, as text; a number keeps its digits. */
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
