// The rows that a rehearsal of pipelines left behind.
import type { Json } from "#core"
import type { RehearsalContext } from "#core/engine"
import { listRows } from "./operations/rows.ts"

export async function rehearsedRows({ call }: RehearsalContext, slug: string): Promise<{ id: string; values: Record<string, Json> }[]> {
  const rows: { id: string; values: Record<string, Json> }[] = []
  let cursor = ""
  do {
    const page = await call(listRows, { slug, limit: 200, cursor })
    rows.push(...page.rows)
    cursor = page.next_cursor
  } while (cursor !== "")
  return rows
}
