// The beacon: tells the service what a visitor does on a page, in batches, and never anything that is typed. Small, since
// every visit loads it; nothing in it may throw into the page.
import type { BeaconConfig, Browser, Element, FetchAnswer, PageEvent, Target, Vital } from "./browser.ts"

/** Where the measuring of web vitals is loaded from; put in when the beacon is built. */
declare const vitalsPath: string

/** Of what waits to be sent again; what is later is lost. */
const maxWaiting = 100

const w = globalThis as unknown as Browser
const d = w.document

/** The element that was used, in an open shadow tree too: the event's own target is then the tree's host. */
const innermost = (event: PageEvent) => event.composedPath()[0] as Element

/** No error leaves this function. */
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
  // A second one stands in a page that was saved from a browser and published again: it would tell of the page that it was.
  if (w.mrBeacon || (config.g && w.navigator.globalPrivacyControl)) return
  w.mrBeacon = 1

  let events: object[] = []
  let clicks: unknown[] = []
  let touched: string[][] = []
  let depth = 0
  let deepest = -1
  let timer: unknown
  /** Whether the visitor has seen the page: it may have been opened in the background, or before it was asked for. */
  let hasStarted = false
  /** Requests that failed in a row; while there are some, what comes meanwhile waits. */
  let fails = 0
  /** Told of once: in a visit, and in a view of the page. */
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
    // Each event's id makes it one, however often it is sent.
    const again = (seconds?: number) => {
      events = [...state[0], ...events].slice(0, maxWaiting)
      clicks = [...state[1], ...clicks].slice(0, maxWaiting)
      touched = [...state[2], ...touched].slice(0, maxWaiting)
      deepest = -1
      clearTimeout(timer as number)
      timer = setTimeout(flush, (seconds || Math.min(60, 2 ** ++fails)) * (1000 + 500 * Math.random()))
    }
    // Where requests fail, what is sent this way may come through; nobody is told whether it did. A sandboxed page has no
    // storage that the next one could read: what does not come through now is lost.
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

  /** What scrolls: the page, or where that does not, what fills the middle of the window. */
  const scroller = () => {
    const root = d.scrollingElement ?? d.documentElement
    // The root's clientHeight says nothing where there is no doctype.
    if (root.scrollHeight > w.innerHeight) return { way: root.scrollHeight - w.innerHeight, at: w.scrollY }
    for (let inner = d.elementFromPoint(w.innerWidth / 2, w.innerHeight / 2); inner; inner = inner.parentElement)
      if (inner.scrollHeight > inner.clientHeight && /auto|scroll/.test(w.getComputedStyle(inner).overflowY))
        return { way: inner.scrollHeight - inner.clientHeight, at: inner.scrollTop }
    return { way: 0, at: 0 }
  }
  // Shares of a section at which it is looked at: a small one of a tall section fills the window.
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
  /** Watches the sections that there are by now. */
  const look = safe(() => {
    looking = 0
    observer ??= observe()
    for (const section of d.querySelectorAll("section[id],[data-section]")) if (first(section, watched)) observer.observe(section)
  })

  const visit = w.performance.getEntriesByType("navigation")[0]
  /** The answer to the page's own form is not a new view. It is known by the redirect, or as what was there before: a sandboxed page has neither storage nor a referrer. */
  let answer: unknown = w.location.hash === "#thank-you" && visit && (visit.redirectCount || visit.type !== "navigate")
  /** Whether the visitor did something that may scroll: the browser scrolls to the answer by itself. */
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
  /** A page that fits is seen whole by who leaves it; until then it may grow. */
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
      // The event of a form in a shadow tree does not leave the tree.
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
  /** What a person does; a script's clicks and input are its own. */
  const onTrusted = (type: string, run: (event: PageEvent) => unknown) => on(w, type, (event) => event.isTrusted && run(event))

  on(w, "scroll", scrolled)
  for (const type of ["wheel", "keydown", "pointerdown"])
    on(w, type, () => {
      moved = true
    })
  /** The field of the label that was clicked last, and where. */
  let field: Element | null | undefined
  let point = ""
  let last: Element | null | undefined
  onTrusted("click", (event) => {
    const { clientX, clientY } = event
    const target = innermost(event)
    const within = (selector: string) => event.composedPath().find((element) => element.matches?.(selector))
    const here = `${clientX} ${clientY}`
    // The browser clicks a label's field as well, at the same point.
    const again = target === field && here === point
    const control = within("label")?.control
    field = again || control === target ? null : control
    point = here
    if (again) return
    const x = Math.round(clientX + w.scrollX)
    const y = Math.round(clientY + w.scrollY)
    const cta = within("a,button,summary,[role=button],[type=submit],[data-cta]")
    const used = control ?? within("input,select,textarea")
    // One control after another is use of them, and two or three clicks select text.
    const selection = w.getSelection()
    const selects = selection && !selection.isCollapsed && selection.containsNode(target, true)
    const how = used && used !== last ? 2 : selects ? 1 : 0
    last = used
    if (cta) tell("cta_click", { element: labelOf(cta), x, y })
    else if (clicks.push([Date.now(), x, y, labelOf(within("[id],[name]") ?? target), how])) soon()
  })
  onTrusted("input", touch)
  // What a form sends is told of by the service, which knows whether it was kept; what was done before comes first.
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
    // A link to a fragment is one as well.
    on(w, "popstate", navigated)
  }

  const start = safe(() => {
    if (hasStarted || d.prerendering || d.visibilityState === "hidden") return
    hasStarted = true
    if (answer) scrolled()
    else {
      view()
      look()
      // Sections that a script makes later.
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

// What elements of a page say of themselves. Only attributes are asked: a form's properties (id, name, action, method) are
// hidden by fields of these names.

/** What its author calls an element; never what it says. */
const labelOf = (element: Element) =>
  attribute(element, "data-cta") || attribute(element, "id") || attribute(element, "name") || element.tagName.toLowerCase()

const attribute = (element: Element, name: string) => element.getAttribute(name) ?? ""

/** Whether a form is the page's, by the rule of what serves it: it goes to the page's own address, asks for nothing, and is not to be left alone. */
const isOwn = (form: Element, page: string) => {
  const { origin, pathname } = new URL(attribute(form, "action"), page)
  return origin + pathname === page && form.getAttribute("data-mr-ignore") === null && !/^(get|dialog)$/i.test(attribute(form, "method"))
}
