// Response headers of pages. The sandbox gives each page its own opaque origin: no HTML can read cookies or storage of another
// page or of the console.
import type { PageSettings } from "../settings.ts"

const permissions = ["accelerometer", "camera", "geolocation", "gyroscope", "magnetometer", "microphone", "payment", "usb"]

/** `own`: origins of this service for the page's scripts, since 'self' has no effect in a sandboxed page. */
export function pageHeaders(settings: Pick<PageSettings, "frame_ancestors">, own: readonly string[]): Record<string, string> {
  const ours = [...new Set(own)].join(" ")
  // In some current browsers an origin does not cover its WebSocket URL.
  const sockets = [...new Set(own)].map((origin) => origin.replace(/^http/, "ws")).join(" ")
  const policy = [
    "sandbox allow-forms allow-scripts allow-popups allow-popups-to-escape-sandbox allow-modals allow-downloads allow-top-navigation-by-user-activation",
    "default-src 'none'",
    `script-src 'unsafe-inline' ${ours} https:`,
    "style-src 'unsafe-inline' https:",
    "img-src https: data: blob:",
    "font-src https: data:",
    "media-src https: data: blob:",
    `connect-src ${ours} ${sockets} https: wss:`,
    "frame-src https:",
    `form-action ${ours} https:`,
    "base-uri 'none'",
    "object-src 'none'",
    `frame-ancestors ${settings.frame_ancestors.join(" ") || "'none'"}`,
  ].join("; ")
  return {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": policy,
    "Cache-Control": "private, no-cache",
    Vary: "Cookie, User-Agent, Sec-GPC, Authorization",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Permissions-Policy": permissions.map((name) => `${name}=()`).join(", "),
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
    "X-Content-Type-Options": "nosniff",
    ...(settings.frame_ancestors.length === 0 ? { "X-Frame-Options": "DENY" } : {}),
  }
}
