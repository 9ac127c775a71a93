// JSON pointers (RFC 6901): how findings name places in a document.

/** The pointer to a field or element of what `parent` points to. */
export function childPointer(parent: string, key: PropertyKey): string {
  const name = String(key)
  return `${parent}/${/[~/]/.test(name) ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name}`
}

export function pointerTo(path: readonly PropertyKey[], parent = ""): string {
  return path.reduce<string>(childPointer, parent)
}

/** The keys of a pointer, unescaped; none for the whole document. */
export function keysOf(pointer: string): string[] {
  if (pointer === "") return []
  return pointer
    .slice(1)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
}
