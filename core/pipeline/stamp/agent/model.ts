// The name of an Android device, as its agent gives it: after the version (and a language, in old ones), before the build.

const named =
  /\bAndroid[ /]?[\d.]*[;,]?\s*(?:[A-Za-z]{2}[-_](?:[A-Za-z]{4}[-_])?[A-Za-z]{2,3}\s*;\s*|HarmonyOS;\s*)?([^;()]{2,80}?)\s*(?:\bBuild\b|[;()]|AppleWebKit|$)/i

/** "" where it gives none. */
export function androidModel(agent: string): string {
  return named.exec(agent)?.[1] ?? ""
}
