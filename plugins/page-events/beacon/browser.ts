// The few things of a browser that the beacon touches, as types. (The DOM library would come over the whole project.)

export interface Target {
  addEventListener(type: string, listener: (event: PageEvent) => void, options?: { capture?: boolean; passive?: boolean }): void
}

export interface Element extends Target {
  readonly tagName: string
  readonly id: string
  readonly form?: Element | null
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
  readonly documentElement: { readonly scrollHeight: number; readonly clientHeight: number }
  querySelectorAll(selector: string): Iterable<Element>
}

export interface Seen {
  readonly isIntersecting: boolean
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
  readonly document: Page
  readonly crypto: { getRandomValues(bytes: Uint8Array): Uint8Array }
  readonly navigator: { readonly globalPrivacyControl?: boolean; sendBeacon(url: string, body: string): boolean }
  readonly IntersectionObserver: new (
    heard: (seen: readonly Seen[]) => void,
    options: { threshold: number },
  ) => { observe(element: Element): void; unobserve(element: Element): void }
}

/** What the served page says to the beacon, in its script element. */
export interface Given {
  /** Where events go. */
  readonly u: string
  /** The page envelope. */
  readonly e: object
  /** Test traffic. */
  readonly t?: 1
  /** Global Privacy Control counts. */
  readonly g?: 1
}

export interface Vital {
  readonly name: string
  readonly value: number
}
