// Measures LCP, INP and CLS of real users with Google's web-vitals. Loaded after the page, separate from the beacon.
import { onCLS, onINP, onLCP } from "web-vitals"
import type { Vital } from "./browser.ts"

export function watch(report: (vital: Vital) => void): void {
  for (const observe of [onLCP, onINP, onCLS]) observe(({ name, value }) => report({ name, value: Math.round(value * 10_000) / 10_000 }))
}
