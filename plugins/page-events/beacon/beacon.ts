// The beacon: tells the service what a visitor does on a page, in batches, and never anything that is typed. Small, since
// every visit loads it; nothing in it may throw into the page.
import type { Answer, Browser, Element, Given, PageEvent, Target, Vital } from "./browser.ts"
import { attribute, isOwn, named } from "./elements.ts"

/** Where the measuring of web vitals is loaded from; put in when the beacon is built. */
declare const vitalsPath: string

/** Of what waits to be sent again; what is later is lost. */
const most = 100

const w = globalThis as unknown as Browser
const d = w.document

/** Whatever goes wrong in here stays in here. */
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
  const given = JSON.parse(script?.getAttribute("data-mr") ?? "") as Given
  const page = given.e.page_url
  if (given.g && w.navigator.globalPrivacyControl) return

  let events: object[] = []
  let clicks: unknown[] = []
  let touched: string[][] = []
  let depth = 0
  let told = -1
  let timer: unknown
  /** Asked to wait: what comes meanwhile is kept. */
  let held = false
  const once = new Set<unknown>()
  const first = (key: unknown) => !once.has(key) && once.add(key)

  const flush = () => {
    clearTimeout(timer as number)
    timer = 0
    held = false
    if (!events.length && !clicks.length && !touched.length && depth === told) return
    told = depth
    const sent = [events, clicks, touched] as const
    const body = JSON.stringify({ _envelope: given.e, is_test: !!given.t, sent_at: Date.now(), events, clicks, touched, depth })
    events = []
    clicks = []
    touched = []
    const second = safe(() => w.navigator.sendBeacon(given.u, body))
    try {
      fetch(given.u, { method: "POST", body, keepalive: true, credentials: "omit" }).then(
        safe(({ status, headers }: Answer) => {
          if (status !== 429 && status !== 503) return
          // Nothing of it was taken. Each event's id makes it one, however often it is sent.
          events = [...sent[0], ...events].slice(0, most)
          clicks = [...sent[1], ...clicks].slice(0, most)
          touched = [...sent[2], ...touched].slice(0, most)
          clearTimeout(timer as number)
          held = true
          timer = setTimeout(flush, (Number(headers.get("retry-after")) || 5) * (1000 + 500 * Math.random()))
        }),
        second,
      )
    } catch {
      second()
    }
  }
  const soon = () => {
    timer ||= setTimeout(flush, 1000)
  }
  const tell = (event: string, more?: object) => {
    let event_id = ""
    for (const byte of w.crypto.getRandomValues(new Uint8Array(16))) event_id += (byte + 256).toString(16).slice(1)
    if (events.push({ event, event_id, at: Date.now(), ...more }) > 19 && !held) flush()
    else soon()
  }

  /** How far the page can be scrolled. Its root's clientHeight would say nothing where there is no doctype. */
  const room = () => (d.scrollingElement ?? d.documentElement).scrollHeight - w.innerHeight
  /** The answer to the page's own form is no new view. It is known by the redirect: a sandboxed page has neither storage nor a referrer. */
  let answer = w.location.hash === "#thank-you" && w.performance.getEntriesByType("navigation")[0]?.redirectCount
  /** Whether the visitor did something that may scroll: the browser scrolls to the answer by itself. */
  let moved = false
  const scrolled = () => {
    if (answer && moved) {
      answer = 0
      watchSections()
    }
    const way = room()
    const now = way > 0 ? Math.min(100, Math.round((w.scrollY / way) * 100)) : 0
    if (now > depth) depth = now
    for (const scroll_depth of [25, 50, 75, 90, 100])
      if (now >= scroll_depth && first(scroll_depth) && !answer) tell("scroll_milestone", { scroll_depth })
  }
  /** A page that fits is seen whole by who leaves it; until then it may grow. */
  const leave = () => {
    if (d.readyState === "complete" && room() <= 0) depth = 100
    flush()
  }
  const touch = ({ target }: PageEvent) => {
    const { form } = target
    const field = attribute(target, "name") || attribute(target, "id")
    if (!form || !isOwn(form, page) || /^(submit|button|reset|image|hidden)$/.test(target.type ?? "")) return
    const name = named(form)
    if (first(form)) tell("form_start", { form: name, field })
    if (first(target)) {
      touched.push([name, field])
      soon()
    }
  }
  const view = () => {
    tell("pageview")
    scrolled()
  }

  on(w, "scroll", scrolled)
  for (const type of ["wheel", "keydown", "pointerdown"])
    on(w, type, () => {
      moved = true
    })
  /** The field of the label that was clicked last, and where. */
  let field: Element | null | undefined
  let point = ""
  on(w, "click", ({ target, clientX, clientY }) => {
    const here = `${clientX} ${clientY}`
    // The browser clicks a label's field as well, at the same point.
    const again = target === field && here === point
    const control = target.closest("label")?.control
    field = again || control === target ? null : control
    point = here
    if (again) return
    const x = Math.round(clientX + w.scrollX)
    const y = Math.round(clientY + w.scrollY)
    const cta = target.closest("a,button,summary,[role=button],[type=submit],[data-cta]")
    if (cta) tell("cta_click", { element: named(cta), x, y })
    else if (clicks.push([Date.now(), x, y, named(target.closest("[id],[name]") ?? target)])) soon()
  })
  on(w, "focusin", touch)
  on(w, "input", touch)
  // What is sent by a form is told of by the service, which knows whether it was kept; what was done before counts first.
  on(w, "submit", flush)
  on(w, "play", ({ target }) => {
    if (target.tagName === "VIDEO" && first(target)) tell("video_play", { video: named(target) })
  })
  on(w, "pageshow", (event) => event.persisted && view())
  on(w, "pagehide", leave)
  on(d, "visibilitychange", () => d.visibilityState === "hidden" && leave())

  const watchSections = () => {
    // Shares of a section at which it is looked at: a small one of a tall section fills the window.
    const threshold: number[] = []
    for (let share = 0.2; share > 0.001; share /= 1.5) threshold.push(share)
    const observer = new w.IntersectionObserver(
      safe((seen) => {
        for (const { intersectionRatio, intersectionRect, target } of seen) {
          if (intersectionRatio < 0.2 && intersectionRect.height <= w.innerHeight / 2) continue
          observer.unobserve(target)
          tell("section_view", { section: attribute(target, "data-section") || attribute(target, "id") })
        }
      }),
      { threshold },
    )
    for (const section of d.querySelectorAll("section[id],[data-section]")) observer.observe(section)
  }
  const start = safe(() => {
    if (answer) scrolled()
    else {
      view()
      watchSections()
    }
    import(new URL(vitalsPath, script?.getAttribute("src") ?? "").href)
      .then((vitals: { watch(heard: (vital: Vital) => void): void }) =>
        vitals.watch(safe(({ name, value }) => tell("web_vital", { vital_name: name, vital_value: value }))),
      )
      .catch(() => {})
  })
  if (d.prerendering) on(d, "prerenderingchange", start)
  else start()
})()
