// Types of the browser features used by the beacon. The DOM library would apply to the whole project.

export interface Target {
  addEventListener(type: string, listener: (event: PageEvent) => void, options?: { capture?: boolean; passive?: boolean }): void
}

export interface Element extends Target {
  readonly tagName: string
  readonly form?: Element | null
  /** Only for labels: the labelled field. */
  readonly control?: Element | null
  /** Only for videos. */
  readonly muted?: boolean
  readonly autoplay?: boolean
  readonly parentElement: Element | null
  readonly scrollHeight: number
  readonly clientHeight: number
  readonly scrollTop: number
  /** Absent in the document, the window and shadow roots. */
  matches?(selector: string): boolean
  getAttribute(name: string): string | null
}

export interface PageEvent {
  readonly target: Element
  /** Path from the used element to the window, through open shadow trees. */
  composedPath(): Element[]
  /** True for actions of a person or the browser, false for a script. */
  readonly isTrusted: boolean
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
  elementFromPoint(x: number, y: number): Element | null
}

interface PageHistory {
  pushState: (...args: unknown[]) => void
}

export interface Seen {
  readonly intersectionRatio: number
  readonly intersectionRect: { readonly height: number }
  readonly target: Element
}

/** Answer of the service to events. */
export interface FetchAnswer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
}

export interface Browser extends Target {
  readonly scrollX: number
  readonly scrollY: number
  readonly innerHeight: number
  readonly innerWidth: number
  /** Set by the first beacon of the page. */
  mrBeacon?: 1
  readonly history: PageHistory
  readonly location: { readonly hash: string }
  readonly performance: { getEntriesByType(type: "navigation"): readonly { readonly redirectCount: number; readonly type: string }[] }
  readonly document: Page
  readonly crypto: { getRandomValues(bytes: Uint8Array): Uint8Array }
  readonly navigator: {
    readonly globalPrivacyControl?: boolean
    readonly userActivation?: { readonly isActive: boolean }
    sendBeacon(url: string, body: string): boolean
  }
  getComputedStyle(element: Element): { readonly overflowY: string }
  getSelection(): { readonly isCollapsed: boolean; containsNode(node: Element, inPart: boolean): boolean } | null
  readonly MutationObserver: new (callback: () => void) => { observe(target: Target, options: { childList: true; subtree: true }): void }
  readonly IntersectionObserver: new (
    callback: (entries: readonly Seen[]) => void,
    options: { threshold: readonly number[] },
  ) => { observe(element: Element): void; disconnect(): void }
}

/** Configuration in the beacon's script element. */
export interface BeaconConfig {
  /** URL for events. */
  readonly u: string
  /** The page envelope. */
  readonly e: { readonly page_url: string }
  /** Test traffic. */
  readonly t?: 1
  /** Honours Global Privacy Control. */
  readonly g?: 1
  /** The page shows several views. Each change of its history is a new view. */
  readonly v?: 1
}

export interface Vital {
  readonly name: string
  readonly value: number
}
