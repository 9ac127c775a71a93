// A table of any number of rows. The document contains the rows in sight.
// biome-ignore-all lint/a11y/useSemanticElements: individually positioned rows cannot use table layout
// biome-ignore-all lint/a11y/useFocusableInteractive: the table has the focus and scrolls
// biome-ignore-all lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
import { useSignal } from "@preact/signals"
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer, type VirtualizerOptions } from "@tanstack/virtual-core"
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import { Cell, type Column } from "./table.tsx"

export interface VirtualTableArgs<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  /** Rows, loaded or not. */
  readonly count: number
  /** Undefined: not loaded yet. */
  readonly rowAt: (index: number) => T | undefined
  /** Called with the rows in sight, to load them. */
  readonly onRange?: (first: number, last: number) => void
  readonly rowHeight?: number
}

/** In pixels. Every browser can scroll this far. */
const maxHeight = 8_000_000

/** Scrolls more rows than a browser can scroll. A long scroll moves the rows by the same share of their height. */
class Stretched {
  /** Pixels from the browser's offset to the offset in the rows. */
  shift = 0
  #hidden = 0
  #last = 0

  /** Returns the offset in the rows. A short scroll moves both offsets by the same pixels. */
  offset(of: number, { scrollHeight, clientHeight }: HTMLElement): number {
    const range = scrollHeight - clientHeight
    // The browser rounds heights. The offset is a fraction.
    const isFar = Math.abs(of - this.#last) > clientHeight || of < 1 || of > range - 1
    if (isFar) this.shift = range > 0 ? Math.min(1, Math.max(0, of / range)) * this.#hidden : 0
    this.#last = of
    return of + this.shift
  }

  /** Preserves the rows in sight when the number of rows changes. */
  resize(total: number, element: HTMLElement | null): void {
    const hidden = Math.max(0, total - maxHeight)
    if (hidden === this.#hidden) return
    this.#hidden = hidden
    if (!element) return
    const position = element.scrollTop + this.shift
    const range = element.scrollHeight - element.clientHeight
    element.scrollTop = position * (range / Math.max(1, range + hidden))
    this.#last = element.scrollTop
    this.shift = hidden === 0 ? 0 : position - this.#last
  }
}

export default function VirtualTableRows<T>({ label, columns, count, rowAt, onRange, rowHeight = 30 }: VirtualTableArgs<T>) {
  const scroller = useRef<HTMLDivElement>(null)
  const drawnRows = useSignal(0)
  const virtual = useRef<Virtualizer<HTMLDivElement, HTMLDivElement> | undefined>(undefined)
  const stretched = useRef(new Stretched()).current
  const total = count * rowHeight
  const options: VirtualizerOptions<HTMLDivElement, HTMLDivElement> = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset: (instance, tell) =>
      observeElementOffset(instance, (offset, isScrolling) => {
        const { scrollElement } = instance
        const { shift } = stretched
        tell(scrollElement ? stretched.offset(offset, scrollElement) : offset, isScrolling)
        if (stretched.shift !== shift) drawnRows.value++
      }),
    onChange: () => void drawnRows.value++,
  }
  virtual.current ??= new Virtualizer<HTMLDivElement, HTMLDivElement>(options)
  virtual.current.setOptions(options)
  useEffect(() => virtual.current?._didMount(), [])
  useEffect(() => virtual.current?._willUpdate())
  useLayoutEffect(() => {
    const { shift } = stretched
    stretched.resize(total, scroller.current)
    if (stretched.shift !== shift) drawnRows.value++
  }, [total])
  void drawnRows.value
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
      style={{ height: `min(70vh, ${total + rowHeight + 18}px)` }}
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
      <div role="rowgroup" class="virtual-body" style={{ height: `${Math.min(total, maxHeight)}px` }}>
        {items.map(({ index, start }) => {
          const row = rowAt(index)
          return (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              class="virtual-row"
              style={{ gridTemplateColumns: template, transform: `translateY(${start - stretched.shift}px)`, height: `${rowHeight}px` }}
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
