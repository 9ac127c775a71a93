// Ctrl K: goes to any area or operation by a few letters of its name.
import { signal, useSignal } from "@preact/signals"
import { createRef } from "preact"
import { areaOf, may, operations, pathFields, verbOf, words } from "./api.ts"
import { screenAt, screens } from "./contributions.ts"
import { go, hrefOf } from "./place.ts"

const open = signal(false)
const dialog = createRef<HTMLDialogElement>()
const maxShown = 12

/** At once, so that no letter typed after it is lost. */
export function openPalette(): void {
  open.value = true
  dialog.current?.showModal()
}

addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return
  event.preventDefault()
  if (open.value) dialog.current?.close()
  else openPalette()
})

interface Target {
  readonly text: string
  readonly href: string
}

function targets(): Target[] {
  const own = operations.value.filter((one) => may(one) && !one.streams)
  const areas = [...new Set(own.map(areaOf))].filter((area) => !screenAt([area]))
  return [
    { text: "overview", href: hrefOf([]) },
    ...screens()
      .filter(({ path }) => !path.includes("{"))
      .map(({ path, title }) => ({ text: title.toLowerCase(), href: hrefOf(path.split("/")) })),
    ...areas.map((area) => ({ text: words(area), href: hrefOf([area]) })),
    ...own
      .filter((one) => pathFields(one).length === 0 && !one.readOnly)
      .map((one) => ({ text: `${words(areaOf(one))}: ${verbOf(one)}`, href: hrefOf([areaOf(one), "-", one.name]) })),
  ]
}

export function Palette() {
  const typed = useSignal("")
  const chosen = useSignal(0)
  const letters = typed.value.toLowerCase().split(" ").filter(Boolean)
  const found = (open.value ? targets() : []).filter(({ text }) => letters.every((part) => text.includes(part))).slice(0, maxShown)
  const leave = (target: Target | undefined) => {
    dialog.current?.close()
    if (target) go(target.href)
  }
  const onClose = () => {
    open.value = false
    typed.value = ""
    chosen.value = 0
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      chosen.value = (chosen.value + step + found.length) % Math.max(1, found.length)
    } else if (event.key === "Enter") leave(found[chosen.value])
  }
  return (
    <dialog ref={dialog} aria-label="Go to" onClose={onClose}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="targets"
        aria-activedescendant={found.length > 0 ? `target-${chosen.value}` : undefined}
        aria-label="Go to an area or an operation"
        value={typed.value}
        autocomplete="off"
        onKeyDown={onKey}
        onInput={(event) => {
          typed.value = event.currentTarget.value
          chosen.value = 0
        }}
      />
      <div id="targets" role="listbox" aria-label="Places">
        {found.map((target, index) => (
          // biome-ignore lint/a11y: the combobox holds the focus, and its keys choose
          <div key={target.href} id={`target-${index}`} role="option" aria-selected={index === chosen.value} onClick={() => leave(target)}>
            {target.text}
          </div>
        ))}
      </div>
      {found.length === 0 && <p role="status">Nothing is called so.</p>}
    </dialog>
  )
}
