// Real-user LCP, INP and CLS, by Google's web-vitals; loaded after the page, apart from the beacon.
import { onCLS, onINP, onLCP } from "web-vitals"
import type { Vital } from "./browser.ts"

export function watch(heard: (vital: Vital) => void): void {
  for (const each of [onLCP, onINP, onCLS]) each(({ name, value }) => heard({ name, value: Math.round(value * 10_000) / 10_000 }))
}
