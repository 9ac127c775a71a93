// A value of the API as people read it. Whatever it holds is text, never markup.
import type { Row } from "./api.ts"
import { unturned } from "./foreign.tsx"
import { visible } from "./visible.ts"

/** In a cell: one line. */
export function brief(value: unknown): string {
  if (value === null || value === undefined) return ""
  if (typeof value === "object")
    return Array.isArray(value) && value.every((one) => typeof one !== "object")
      ? unturned(value.join(", "))
      : visible(JSON.stringify(value))
  return unturned(String(value))
}

export function Value({ value }: { readonly value: unknown }) {
  if (typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value)))
    return <time dateTime={value}>{value.replace("T", " ").replace(/\.\d+Z$|Z$/, " UTC")}</time>
  if (typeof value === "object" && value !== null) return <pre>{visible(JSON.stringify(value, null, 2))}</pre>
  if (typeof value === "string" && value.includes("\n")) return <pre>{unturned(value)}</pre>
  return <>{brief(value)}</>
}

export function Fields({ row }: { readonly row: Row }) {
  return (
    <dl>
      {Object.entries(row).map(([name, value]) => (
        <div key={name}>
          <dt>{unturned(name)}</dt>
          <dd>
            <Value value={value} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
