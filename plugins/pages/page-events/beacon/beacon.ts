// The beacon: sends a visitor's actions on a page to the service, in batches. It never sends typed text.
// Every visit loads it, so it is small. No error may reach the page.
import type { BeaconConfig, Browser, Element, FetchAnswer, PageEvent, Target, Vital } from "./browser.ts"

/** Path of the web vitals script. The build inserts it. */
declare const vitalsPath: string

/** Bound of the retry buffer. The newest items beyond it are dropped. */
const maxWaiting = 100

const w = globalThis as unknown as Browser
const d = w.document

/** Returns the used element, in an open shadow tree as well. The event's own target is the host of the tree. */
const innermost = (event: PageEvent) => event.composedPath()[0] as Element

/** Wraps a function and swallows its errors. */
const safe =
  <A extends unknown[]>(run: (...args: A) => unknown) =>
  (...args: A) => {
    try {
      run(...args)
    } catch {}
  }
const on = (target: Target, type: string, run: (event: PageEvent) => unknown) =>
  target.addEventListener(type, safe(run), { capture: true, passive: true })

safe(() => {
  const script = d.currentScript
  const config = JSON.parse(script?.getAttribute("data-mr") ?? "") as BeaconConfig
  const page = config.e.page_url
  // A page saved from a browser and published again contains a second beacon. It would report the original page.
  if (w.mrBeacon || (config.g && w.navigator.globalPrivacyControl)) return
  w.mrBeacon = 1

  let events: object[] = []
  let clicks: unknown[] = []
  let touched: string[][] = []
  let depth = 0
  let deepest = -1
  let timer: unknown
  /** True after the visitor has seen the page. The page may have opened in the background or by prerendering. */
  let hasStarted = false
  /** Consecutive failed requests. While above zero, new events wait. */
  let fails = 0
  /** Keys already reported: in this visit, and in this view of the page. */
  const once = new Set<unknown>()
  const inView = new Set<unknown>()
  const first = (key: unknown, keys = once) => !keys.has(key) && keys.add(key)

  const flush = (leaving?: unknown) => {
    clearTimeout(timer as number)
    timer = 0
    if (!hasStarted || (!events.length && !clicks.length && !touched.length && depth === deepest)) return
    deepest = depth
    const state = [events, clicks, touched] as const
    const body = JSON.stringify({ _envelope: config.e, is_test: !!config.t, sent_at: Date.now(), events, clicks, touched, depth })
    events = []
    clicks = []
    touched = []
    // The event's id makes repeated deliveries one event.
    const again = (seconds?: number) => {
      events = [...state[0], ...events].slice(0, maxWaiting)
      clicks = [...state[1], ...clicks].slice(0, maxWaiting)
      touched = [...state[2], ...touched].slice(0, maxWaiting)
      deepest = -1
      clearTimeout(timer as number)
      timer = setTimeout(flush, (seconds || Math.min(60, 2 ** ++fails)) * (1000 + 500 * Math.random()))
    }
    // A beacon request may succeed when fetch fails; its result is unknown. A sandboxed page has no storage for the next page, so
    // events that fail now are lost.
    if (leaving === true && fails) safe(() => w.navigator.sendBeacon(config.u, body))()
    try {
      fetch(config.u, { method: "POST", body, keepalive: true, credentials: "omit" }).then(
        safe(({ status, headers }: FetchAnswer) => {
          if (status === 429 || status > 499) again(Number(headers.get("retry-after")))
          else fails = 0
        }),
        safe(() => again()),
      )
    } catch {
      again()
    }
  }
  const soon = () => {
    timer ||= setTimeout(flush, 1000)
  }
  const tell = (event: string, more?: object) => {
    let event_id = ""
    for (const byte of w.crypto.getRandomValues(new Uint8Array(16))) event_id += (byte + 256).toString(16).slice(1)
    if (events.push({ event, event_id, at: Date.now(), ...more }) > 19 && !fails) flush()
    else soon()
  }

  /**
   * Returns the scroll position of the page. If the page does not scroll, of the scrolling element in the middle of the window.
   */
  const scroller = () => {
    const root = d.scrollingElement ?? d.documentElement
    // Without a doctype, the root's clientHeight is unusable.
    if (root.scrollHeight > w.innerHeight) return { way: root.scrollHeight - w.innerHeight, at: w.scrollY }
    for (let inner = d.elementFromPoint(w.innerWidth / 2, w.innerHeight / 2); inner; inner = inner.parentElement)
      if (inner.scrollHeight > inner.clientHeight && /auto|scroll/.test(w.getComputedStyle(inner).overflowY))
        return { way: inner.scrollHeight - inner.clientHeight, at: inner.scrollTop }
    return { way: 0, at: 0 }
  }
  // Visible shares of a section for the observer. Small shares matter for tall sections: one of them fills the window.
  const threshold: number[] = []
  for (let share = 0.2; share > 0.001; share /= 1.5) threshold.push(share)
  const watched = new Set<unknown>()
  let observer: ReturnType<typeof observe> | undefined
  const observe = () =>
    new w.IntersectionObserver(
      safe((entries) => {
        for (const { intersectionRatio, intersectionRect, target } of entries)
          if ((intersectionRatio >= 0.2 || intersectionRect.height > w.innerHeight / 2) && first(target, inView))
            tell("section_view", { section: attribute(target, "data-section") || attribute(target, "id") })
      }),
      { threshold },
    )
  let looking: unknown
  /** Observes the sections present now. */
  const look = safe(() => {
    looking = 0
    observer ??= observe()
    for (const section of d.querySelectorAll("section[id],[data-section]")) if (first(section, watched)) observer.observe(section)
  })

  const visit = w.performance.getEntriesByType("navigation")[0]
  /**
   * True after the page's own form was answered: the answer is not a new view. The redirect or the navigation type shows it. A
   * sandboxed page has neither storage nor a referrer.
   */
  let answer: unknown = w.location.hash === "#thank-you" && visit && (visit.redirectCount || visit.type !== "navigate")
  /** True after an action of the visitor that may scroll. The browser itself scrolls to the answer. */
  let moved = false
  const scrolled = () => {
    if (answer && moved) {
      answer = 0
      look()
    }
    const { way, at } = scroller()
    const now = way > 0 ? Math.min(100, Math.round((at / way) * 100)) : 0
    if (now > depth) depth = now
    for (const scroll_depth of [25, 50, 75, 90, 100])
      if (now >= scroll_depth && first(scroll_depth, inView) && !answer) tell("scroll_milestone", { scroll_depth })
  }
  /** A page that fits the window counts as fully seen on leaving. Until then it may grow. */
  const leave = () => {
    if (d.readyState === "complete" && scroller().way <= 0) depth = 100
    flush(true)
  }
  const touch = (event: PageEvent) => {
    const target = innermost(event)
    const { form } = target
    const field = attribute(target, "name") || attribute(target, "id")
    if (!form || !isOwn(form, page)) return
    const name = labelOf(form)
    if (first(form)) {
      tell("form_start", { form: name, field })
      // The submit event of a form in a shadow tree does not leave the tree.
      on(form, "submit", flush)
    }
    if (first(target)) {
      touched.push([name, field])
      soon()
    }
  }
  const view = () => {
    tell("pageview", config.v && { view: w.location.hash.replace(/^#[!/]*/, "").replace(/\//g, ".") })
    scrolled()
  }
  /** Listens to actions of a person. Clicks and input by scripts are ignored. */
  const onTrusted = (type: string, run: (event: PageEvent) => unknown) => on(w, type, (event) => event.isTrusted && run(event))

  on(w, "scroll", scrolled)
  for (const type of ["wheel", "keydown", "pointerdown"])
    on(w, type, () => {
      moved = true
    })
  /** Field of the last clicked label, and the click's point. */
  let field: Element | null | undefined
  let point = ""
  let last: Element | null | undefined
  onTrusted("click", (event) => {
    const { clientX, clientY } = event
    const target = innermost(event)
    const within = (selector: string) => event.composedPath().find((element) => element.matches?.(selector))
    const here = `${clientX} ${clientY}`
    // The browser also clicks the label's field, at the same point.
    const again = target === field && here === point
    const control = within("label")?.control
    field = again || control === target ? null : control
    point = here
    if (again) return
    const x = Math.round(clientX + w.scrollX)
    const y = Math.round(clientY + w.scrollY)
    const cta = within("a,button,summary,[role=button],[type=submit],[data-cta]")
    const used = control ?? within("input,select,textarea")
    // A change to another control is use of it. Two or three clicks select text.
    const selection = w.getSelection()
    const selects = selection && !selection.isCollapsed && selection.containsNode(target, true)
    const how = used && used !== last ? 2 : selects ? 1 : 0
    last = used
    if (cta) tell("cta_click", { element: labelOf(cta), x, y })
    else if (clicks.push([Date.now(), x, y, labelOf(within("[id],[name]") ?? target), how])) soon()
  })
  onTrusted("input", touch)
  // The service itself reports leads, since only it knows if the form was stored. Earlier events are sent first.
  on(w, "submit", flush)
  const autoplays = new Set<unknown>()
  on(w, "play", ({ target }) => {
    const autoplay = !!target.muted && (!!target.autoplay || !w.navigator.userActivation?.isActive)
    if (target.tagName === "VIDEO" && first(target, autoplay ? autoplays : once)) tell("video_play", { video: labelOf(target), autoplay })
  })
  on(w, "online", flush)
  on(w, "pageshow", (event) => event.persisted && view())
  on(w, "pagehide", leave)
  if (config.v) {
    const navigated = safe(() => {
      inView.clear()
      watched.clear()
      observer?.disconnect()
      view()
      look()
    })
    const push = w.history.pushState
    w.history.pushState = (...args) => {
      push.apply(w.history, args)
      navigated()
    }
    // A link to a fragment also fires `popstate`.
    on(w, "popstate", navigated)
  }

  const start = safe(() => {
    if (hasStarted || d.prerendering || d.visibilityState === "hidden") return
    hasStarted = true
    if (answer) scrolled()
    else {
      view()
      look()
      // Sections that a script adds later.
      new w.MutationObserver(() => {
        if (!looking) looking = setTimeout(look, 500)
      }).observe(d, { childList: true, subtree: true })
      import(new URL(vitalsPath, script?.getAttribute("src") ?? "").href)
        .then((vitals: { watch(heard: (vital: Vital) => void): void }) =>
          vitals.watch(safe(({ name, value }) => tell("web_vital", { vital_name: name, vital_value: value }))),
        )
        .catch(() => {})
    }
  })
  on(d, "visibilitychange", () => (d.visibilityState === "hidden" ? leave() : start()))
  on(d, "prerenderingchange", start)
  start()
})()

// Reads names of elements from attributes only. Fields with the names id, name, action or method hide the form's properties.

/** Returns the author's name of an element, never its text. */
const labelOf = (element: Element) =>
  attribute(element, "data-cta") || attribute(element, "id") || attribute(element, "name") || element.tagName.toLowerCase()

const attribute = (element: Element, name: string) => element.getAttribute(name) ?? ""

/**
 * Returns true if the form belongs to the page, by the rule of the server. The form submits to the page's own address, not by
 * GET, and has no `data-mr-ignore`.
 */
const isOwn = (form: Element, page: string) => {
  const { origin, pathname } = new URL(attribute(form, "action"), page)
  return origin + pathname === page && form.getAttribute("data-mr-ignore") === null && !/^(get|dialog)$/i.test(attribute(form, "method"))
}
