// The few things of a browser that the beacon touches, as types. (The DOM library would come over the whole project.)

export interface Target {
  addEventListener(type: string, listener: (event: PageEvent) => void, options?: { capture?: boolean; passive?: boolean }): void
}

export interface Element extends Target {
  readonly tagName: string
  readonly form?: Element | null
  /** Of a label: its field. */
  readonly control?: Element | null
  readonly type?: string
  closest(selector: string): Element | null
  getAttribute(name: string): string | null
}

export interface PageEvent {
  readonly target: Element
  readonly clientX: number
  readonly clientY: number
  readonly persisted: boolean
}

export interface Page extends Target {
  readonly currentScript: Element | null
  readonly visibilityState: string
  readonly prerendering?: boolean
  readonly readyState: string
  readonly scrollingElement: { readonly scrollHeight: number } | null
  readonly documentElement: { readonly scrollHeight: number }
  querySelectorAll(selector: string): Iterable<Element>
}

export interface Seen {
  readonly intersectionRatio: number
  readonly intersectionRect: { readonly height: number }
  readonly target: Element
}

/** What the service answers to events. */
export interface Answer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
}

export interface Browser extends Target {
  readonly scrollX: number
  readonly scrollY: number
  readonly innerHeight: number
  readonly location: { readonly hash: string }
  readonly performance: { getEntriesByType(type: "navigation"): readonly { readonly redirectCount: number }[] }
  readonly document: Page
  readonly crypto: { getRandomValues(bytes: Uint8Array): Uint8Array }
  readonly navigator: { readonly globalPrivacyControl?: boolean; sendBeacon(url: string, body: string): boolean }
  readonly IntersectionObserver: new (
    heard: (seen: readonly Seen[]) => void,
    options: { threshold: readonly number[] },
  ) => { observe(element: Element): void; unobserve(element: Element): void }
}

/** What the served page says to the beacon, in its script element. */
export interface Given {
  /** Where events go. */
  readonly u: string
  /** The page envelope. */
  readonly e: { readonly page_url: string }
  /** Test traffic. */
  readonly t?: 1
  /** Global Privacy Control counts. */
  readonly g?: 1
}

export interface Vital {
  readonly name: string
  readonly value: number
}
