// Tables of the report: the first column names the row.
import { type Html, html } from "#core"
import type { Column } from "./columns.ts"

export function table<T>(caption: string, columns: readonly Column<T>[], rows: readonly T[]): Html {
  const heads = columns.map(({ title, isNumber }) => html`<th scope="col"${isNumber ? numeric : plain}><bdi>${title}</bdi></th>`)
  const body = rows.map((row) => {
    const cells = columns.map(({ text, isNumber, isTime }, place) =>
      place === 0
        ? html`<th scope="row"${isTime ? time : plain}><bdi>${text(row)}</bdi></th>`
        : html`<td${isNumber ? numeric : plain}><bdi>${text(row)}</bdi></td>`,
    )
    return html`<tr>${cells}</tr>`
  })
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table><caption>${caption}</caption>
<thead><tr>${heads}</tr></thead>
<tbody>${body}</tbody></table></div>`
}

const numeric = html` class="n"`
const time = html` class="time"`
const plain = html``
