// Real-user LCP, INP and CLS, by Google's web-vitals; loaded after the page, apart from the beacon.
import { onCLS, onINP, onLCP } from "web-vitals"
import type { Vital } from "./browser.ts"

export function watch(report: (vital: Vital) => void): void {
  for (const observe of [onLCP, onINP, onCLS]) observe(({ name, value }) => report({ name, value: Math.round(value * 10_000) / 10_000 }))
}
