// A table of a page of rows.

import type { ComponentChildren } from "preact"
import { UntrustedText } from "./foreign.tsx"

export interface Column<T> {
  readonly name: string
  readonly title?: ComponentChildren
  readonly show: (row: T) => ComponentChildren
  /** Right-aligned, with digits of equal width. */
  readonly isNumber?: boolean
  /** CSS width in a virtual table; default: 10rem. */
  readonly width?: string
}

interface TableArgs<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T, index: number) => string
}

/** Text may come from outside, so its direction is isolated. */
export function Cell({ of }: { readonly of: ComponentChildren }): ComponentChildren {
  return typeof of === "string" ? <UntrustedText text={of} /> : of
}

export function Table<T>({ label, columns, rows, keyOf }: TableArgs<T>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ name, title = name, isNumber }) => (
              <th key={name} scope="col" class={isNumber ? "number" : ""}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map(({ name, show, isNumber }) => (
                <td key={name} class={isNumber ? "number" : ""}>
                  <Cell of={show(row)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
