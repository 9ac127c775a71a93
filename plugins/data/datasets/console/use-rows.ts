// Loads rows of a filter and sort order page by page. The next page is requested when the last rows come into sight.
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import type { ClientError } from "#client"
import { call, type Output } from "#console"
import type { Row } from "./columns.tsx"

interface Loaded {
  readonly rows: readonly Row[]
  readonly cursor: string
  readonly isComplete: boolean
  readonly problem: string
}

const empty: Loaded = { rows: [], cursor: "", isComplete: false, problem: "" }
const pageSize = 200

export function useRows(slug: string, filter: string, sort: string) {
  const loaded = useSignal(empty)
  const again = useSignal(0)
  const asking = useRef<AbortController | undefined>(undefined)
  const more = () => {
    const { cursor, isComplete, problem } = loaded.value
    if (asking.current || isComplete || problem !== "") return
    const asked = new AbortController()
    asking.current = asked
    const input = { slug, filter, sort, limit: pageSize, ...(cursor === "" ? {} : { cursor }) }
    call<Output<"datasets.list_rows">>("datasets.list_rows", input, { signal: asked.signal })
      .then(
        ({ rows, next_cursor }) => {
          if (asked.signal.aborted) return
          const { rows: before } = loaded.value
          loaded.value = { rows: [...before, ...rows], cursor: next_cursor, isComplete: next_cursor === "", problem: "" }
        },
        (error: ClientError) => {
          if (!asked.signal.aborted) loaded.value = { ...loaded.value, problem: error.message }
        },
      )
      .finally(() => {
        if (asking.current === asked) asking.current = undefined
      })
  }
  useEffect(() => {
    loaded.value = empty
    more()
    return () => {
      asking.current?.abort()
      asking.current = undefined
    }
  }, [slug, filter, sort, again.value])
  return {
    ...loaded.value,
    more,
    reload: () => void again.value++,
    /** Removes a deleted row from the list. */
    without(id: string) {
      loaded.value = { ...loaded.value, rows: loaded.value.rows.filter((row) => row.id !== id) }
    },
  }
}
