// Text of strangers in which nothing hides: marks that turn or hide what stands beside them are shown by their code.
const hiding = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const layout = new Set(["\n", "\t", "\r"])

/** As JSON would escape them, so that JSON stays what it is. */
export function visible(text: string): string {
  return text.replace(hiding, (sign) => (layout.has(sign) ? sign : escapeSign(sign)))
}

function escapeSign(sign: string): string {
  return Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")
}
