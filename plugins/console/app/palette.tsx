// Ctrl K: goes to any area, operation or thing by a few letters of its name, and looks for what is pasted.
import { signal, useSignal } from "@preact/signals"
import { createRef } from "preact"
import { areaOf, may, operations, verbOf, words } from "./api.ts"
import { finders, screenAt, screens, viewOf } from "./contributions.ts"
import { inBackground } from "./in-background.ts"
import { pathFields } from "./paths.ts"
import { go, hrefOf } from "./place.ts"
import { readSought, sought, type Target } from "./sought.ts"

const open = signal(false)
const dialog = createRef<HTMLDialogElement>()
const maxShown = 12

/** At once, so that no letter typed after it is lost. */
export function openPalette(): void {
  open.value = true
  dialog.current?.showModal()
  inBackground(readSought())
}

addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return
  event.preventDefault()
  if (open.value) dialog.current?.close()
  else openPalette()
})

function targets(): Target[] {
  const own = operations.value.filter((one) => may(one) && !one.streams)
  const areas = [...new Set(own.map(areaOf))].filter((area) => !screenAt([area]))
  return [
    { text: "Overview", href: hrefOf([]) },
    ...screens()
      .filter(({ path }) => !path.includes("{"))
      .map(({ path, title }) => ({ text: title, href: hrefOf(path.split("/")) })),
    ...areas.map((area) => ({ text: viewOf(area).title, href: hrefOf([area]) })),
    ...sought(),
    ...own
      .filter((one) => pathFields(one).length === 0 && !one.readOnly)
      .map((one) => ({ text: `${words(areaOf(one))}: ${verbOf(one).toLowerCase()}`, href: hrefOf([areaOf(one), "-", one.name]) })),
  ]
}

const minFound = 3

/** By its letters; what may be an id or an address of something is looked for first. */
function found(typed: string): Target[] {
  const text = typed.trim()
  const letters = text.toLowerCase().split(" ").filter(Boolean)
  const named = targets().filter((one) => letters.every((part) => one.text.toLowerCase().includes(part)))
  const looking = finders().map(({ title, path, field }) => ({
    text: `${title}: ${text}`,
    href: hrefOf(path.split("/"), { [field]: text }),
  }))
  if (text.length < minFound) return named.slice(0, maxShown)
  const isPasted = /[@\d]/.test(text)
  return isPasted ? [...looking, ...named].slice(0, maxShown) : [...named.slice(0, maxShown - looking.length), ...looking]
}

export function Palette() {
  const typed = useSignal("")
  const chosen = useSignal(0)
  const shown = open.value ? found(typed.value) : []
  const leave = (target: Target | undefined) => {
    dialog.current?.close()
    if (target) go(target.href)
  }
  const onClose = () => {
    // It was opened again before the browser told that it had been closed.
    if (dialog.current?.open) return
    open.value = false
    typed.value = ""
    chosen.value = 0
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      chosen.value = (chosen.value + step + shown.length) % Math.max(1, shown.length)
    } else if (event.key === "Enter") leave(shown[chosen.value])
  }
  return (
    <dialog ref={dialog} aria-label="Go to" onClose={onClose}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="targets"
        aria-activedescendant={shown.length > 0 ? `target-${chosen.value}` : undefined}
        aria-label="Go to an area, an operation or a thing"
        placeholder="a name, an id, an address"
        value={typed.value}
        autocomplete="off"
        onKeyDown={onKey}
        onInput={(event) => {
          typed.value = event.currentTarget.value
          chosen.value = 0
        }}
      />
      <div id="targets" role="listbox" aria-label="Places">
        {shown.map((target, index) => (
          // biome-ignore lint/a11y: the combobox holds the focus, and its keys choose
          <div
            key={`${target.href} ${target.text}`}
            id={`target-${index}`}
            role="option"
            aria-selected={index === chosen.value}
            onClick={() => leave(target)}
          >
            {target.text}
          </div>
        ))}
      </div>
      {shown.length === 0 && <p role="status">Nothing is called so.</p>}
    </dialog>
  )
}
