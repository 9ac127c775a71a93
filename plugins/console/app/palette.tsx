// Ctrl K: opens any area, operation or resource by a few letters of its name, and searches for pasted text.
import { signal, useSignal } from "@preact/signals"
import { createRef } from "preact"
import { areaOf, may, operations, verbOf, words } from "./api.ts"
import { inBackground } from "./connection.ts"
import { finders, screenAt, screens, viewOf } from "./contributions.ts"
import { pathFields } from "./paths.ts"
import { go, hrefOf } from "./place.ts"
import { readSought, searchTargets, type Target } from "./sought.ts"

const open = signal(false)
const dialog = createRef<HTMLDialogElement>()
const maxShown = 12

/** Opens at once, so no typed letter is lost. */
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
  const usable = operations.value.filter((operation) => may(operation) && !operation.streams)
  const areas = [...new Set(usable.map(areaOf))].filter((area) => !screenAt([area]))
  return [
    { text: "Overview", href: hrefOf([]) },
    ...screens()
      .filter(({ path }) => !path.includes("{"))
      .map(({ path, title }) => ({ text: title, href: hrefOf(path.split("/")) })),
    ...areas.map((area) => ({ text: viewOf(area).title, href: hrefOf([area]) })),
    ...searchTargets(),
    ...usable
      .filter((operation) => pathFields(operation).length === 0 && !operation.readOnly)
      .map((operation) => ({
        text: `${words(areaOf(operation))}: ${verbOf(operation).toLowerCase()}`,
        href: hrefOf([areaOf(operation), "-", operation.name]),
      })),
  ]
}

const minFound = 3

/** Matches by letters. For a possible id or address, searches come first. */
function findTargets(typed: string): Target[] {
  const text = typed.trim()
  const letters = text.toLowerCase().split(" ").filter(Boolean)
  const matches = targets().filter((target) => letters.every((part) => target.text.toLowerCase().includes(part)))
  const looking = finders().map(({ title, path, field }) => ({
    text: `${title}: ${text}`,
    href: hrefOf(path.split("/"), { [field]: text }),
  }))
  if (text.length < minFound) return matches.slice(0, maxShown)
  const isPasted = /[@\d]/.test(text)
  return isPasted ? [...looking, ...matches].slice(0, maxShown) : [...matches.slice(0, maxShown - looking.length), ...looking]
}

export function Palette() {
  const typed = useSignal("")
  const selected = useSignal(0)
  const results = open.value ? findTargets(typed.value) : []
  const leave = (target: Target | undefined) => {
    dialog.current?.close()
    if (target) go(target.href)
  }
  const onClose = () => {
    // The dialog was reopened before the browser reported the close.
    if (dialog.current?.open) return
    open.value = false
    typed.value = ""
    selected.value = 0
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      selected.value = (selected.value + step + results.length) % Math.max(1, results.length)
    } else if (event.key === "Enter") leave(results[selected.value])
  }
  return (
    <dialog ref={dialog} aria-label="Go to" onClose={onClose}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="targets"
        aria-activedescendant={results.length > 0 ? `target-${selected.value}` : undefined}
        aria-label="Go to an area, an operation or a thing"
        placeholder="a name, an id, an address"
        value={typed.value}
        autocomplete="off"
        onKeyDown={onKey}
        onInput={(event) => {
          typed.value = event.currentTarget.value
          selected.value = 0
        }}
      />
      <div id="targets" role="listbox" aria-label="Places">
        {results.map((target, index) => (
          // biome-ignore lint/a11y: the combobox has the focus and handles the keys
          <div
            key={`${target.href} ${target.text}`}
            id={`target-${index}`}
            role="option"
            aria-selected={index === selected.value}
            onClick={() => leave(target)}
          >
            {target.text}
          </div>
        ))}
      </div>
      {results.length === 0 && <p role="status">Nothing is called so.</p>}
    </dialog>
  )
}
