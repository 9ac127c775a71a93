// The place in the console is the URL. A link therefore opens the same view elsewhere.
import { type Signal, signal } from "@preact/signals"

const root = "/console"

export const place: Signal<URL> = signal(new URL(location.href))

addEventListener("popstate", ({ state }) => {
  place.value = new URL(location.href)
  returnTo((state as { top?: number } | null)?.top ?? 0)
})

let leave = () => {}

/** Restores the scroll position when the reloaded page is long enough. Stops if the person scrolls or navigates. */
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

/** Returns the decoded segments after `/console`. An undecodable path becomes a single unknown segment. */
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

/** Handles links inside the console without a page load, except for links opened in another window. */
export function follow(event: MouseEvent): void {
  const link = (event.target as Element).closest("a")
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  if (link.origin !== location.origin || !(link.pathname === root || link.pathname.startsWith(`${root}/`))) return
  event.preventDefault()
  go(link.href)
}
