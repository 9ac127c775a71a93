// A table of any number of rows, of which only those in sight are in the document.
// biome-ignore-all lint/a11y/useSemanticElements: rows that are placed one by one are not laid out as a table's
// biome-ignore-all lint/a11y/useFocusableInteractive: the table is what is focused, and scrolls
// biome-ignore-all lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
import { useSignal } from "@preact/signals"
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core"
import { useEffect, useRef } from "preact/hooks"
import { Cell, type Column } from "./table.tsx"

interface VirtualTableArgs<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  /** How many there are, loaded or not. */
  readonly count: number
  /** Undefined: not loaded yet. */
  readonly rowAt: (index: number) => T | undefined
  /** Told which are in sight, to load them. */
  readonly onRange?: (first: number, last: number) => void
  readonly rowHeight?: number
}

/** The most that every browser scrolls: rows beyond are reached by a filter. */
const maxHeight = 8_000_000

export function VirtualTable<T>({ label, columns, count, rowAt, onRange, rowHeight = 30 }: VirtualTableArgs<T>) {
  const scroller = useRef<HTMLDivElement>(null)
  const drawn = useSignal(0)
  const virtual = useRef<Virtualizer<HTMLDivElement, HTMLDivElement> | undefined>(undefined)
  const shownCount = Math.min(count, Math.floor(maxHeight / rowHeight))
  const options = {
    count: shownCount,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => void drawn.value++,
  }
  virtual.current ??= new Virtualizer<HTMLDivElement, HTMLDivElement>(options)
  virtual.current.setOptions(options)
  useEffect(() => virtual.current?._didMount(), [])
  useEffect(() => virtual.current?._willUpdate())
  void drawn.value
  const items = virtual.current.getVirtualItems()
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? -1]
  useEffect(() => {
    if (last >= first) onRange?.(first, last)
  }, [first, last, count])
  const template = columns.map(({ width = "10rem" }) => width).join(" ")
  return (
    <div
      ref={scroller}
      class="virtual"
      style={{ height: `min(70vh, ${(shownCount + 1) * rowHeight + 18}px)` }}
      tabIndex={0}
      role="table"
      aria-label={label}
      aria-rowcount={count + 1}
    >
      <div role="rowgroup" class="virtual-head">
        <div role="row" aria-rowindex={1} class="virtual-row" style={{ gridTemplateColumns: template }}>
          {columns.map(({ name, title = name, isNumber }) => (
            <div key={name} role="columnheader" class={isNumber ? "number" : ""}>
              {title}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="virtual-body" style={{ height: `${virtual.current.getTotalSize()}px` }}>
        {items.map(({ index, start }) => {
          const row = rowAt(index)
          return (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              class="virtual-row"
              style={{ gridTemplateColumns: template, transform: `translateY(${start}px)`, height: `${rowHeight}px` }}
            >
              {columns.map(({ name, show, isNumber }) => (
                <div key={name} role="cell" class={isNumber ? "number" : ""}>
                  {row === undefined ? "…" : <Cell of={show(row)} />}
                </div>
              ))}
            </div>
          )
        })}
      </div>
    </div>
  )
}
