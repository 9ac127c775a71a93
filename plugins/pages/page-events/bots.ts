// Detects user agents of programs with isbot, and corrects a known false positive.
import { isbot } from "isbot"

/** WeChat on Android names the process of its webview `tools` or `toolsmp`. isbot knows the word from crawlers. */
const wechatProcess = /\bProcess\/tools(?:mp)?\b/

/** Returns the first user agent of a request; empty if there is none. */
export function userAgentOf(headers: Readonly<Record<string, string | readonly string[] | undefined>>): string {
  const value = headers["user-agent"]
  return typeof value === "string" ? value : (value?.[0] ?? "")
}

export function isBot(agent: string): boolean {
  return isbot(agent.replace(wechatProcess, ""))
}
