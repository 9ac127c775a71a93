// URIs of resources: `millrace://event-pipelines/{slug}` as a pattern to read values out of, and to put them into.

export interface UriPattern {
  readonly uri: string
  readonly variables: readonly string[]
  /** The variables' values, decoded; undefined for another resource's URI. */
  match(uri: string): Record<string, string> | undefined
}

export function uriPattern(uri: string): UriPattern {
  const variables = [...uri.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "")
  const source = uri
    .split(/\{\w+\}/)
    .map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"))
    .join("([^/?#]+)")
  const pattern = new RegExp(`^${source}$`)
  return {
    uri,
    variables,
    match(given) {
      const found = pattern.exec(given)
      if (!found) return undefined
      try {
        return Object.fromEntries(variables.map((name, index) => [name, decodeURIComponent(found[index + 1] ?? "")]))
      } catch {
        return undefined
      }
    },
  }
}

/** The URI with each `{field}` filled in from the item; undefined when one of them has no text there. */
export function filled(uri: string, item: Readonly<Record<string, unknown>>): string | undefined {
  let complete = true
  const text = uri.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = item[name]
    if (typeof value !== "string" || value === "") complete = false
    return encodeURIComponent(String(value))
  })
  return complete ? text : undefined
}
