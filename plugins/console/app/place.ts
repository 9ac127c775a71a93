// The place in the console, which is the address: a link opened elsewhere shows the same.
import { type Signal, signal } from "@preact/signals"

const root = "/console"

export const place: Signal<URL> = signal(new URL(location.href))

addEventListener("popstate", ({ state }) => {
  place.value = new URL(location.href)
  returnTo((state as { top?: number } | null)?.top ?? 0)
})

let leave = () => {}

/** Scrolls to where one was, as soon as what is read again is long enough; not after one has moved or gone on. */
function returnTo(top: number): void {
  leave()
  if (top === 0) return
  const observer = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight < top + innerHeight) return
    leave()
    scrollTo(0, top)
  })
  const moves = ["wheel", "keydown", "pointerdown"]
  leave = () => {
    observer.disconnect()
    for (const move of moves) removeEventListener(move, leave)
  }
  for (const move of moves) addEventListener(move, leave)
  observer.observe(document.body)
}

/** Segments after `/console`, decoded; a single one, which nothing is called, where that is not possible. */
export function segments(): string[] {
  const path = place.value.pathname.slice(root.length)
  try {
    return path.split("/").filter(Boolean).map(decodeURIComponent)
  } catch {
    return [path]
  }
}

export function hrefOf(parts: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== "")
  const search = entries.length > 0 ? `?${new URLSearchParams(entries)}` : ""
  return [root, ...parts.map(encodeURIComponent)].join("/") + search
}

export function go(href: string, { replace = false } = {}): void {
  leave()
  if (replace) history.replaceState(null, "", href)
  else {
    history.replaceState({ top: scrollY }, "")
    history.pushState(null, "", href)
  }
  place.value = new URL(location.href)
  if (!replace) document.getElementById("main")?.focus()
}

/** For links within the console: without loading the page again, unless the browser is asked for another window. */
export function follow(event: MouseEvent): void {
  const link = (event.target as Element).closest("a")
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  if (link.origin !== location.origin || !(link.pathname === root || link.pathname.startsWith(`${root}/`))) return
  event.preventDefault()
  go(link.href)
}
