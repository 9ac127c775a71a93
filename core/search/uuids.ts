// UUIDs in sixteen bytes each.

export const uuidBytes = 16

export function packUuids(ids: readonly string[]): Buffer {
  return Buffer.from(ids.join("").replaceAll("-", ""), "hex")
}

export function uuidsIn(bytes: Uint8Array): string[] {
  const hex = hexOf(bytes)
  return Array.from({ length: Math.floor(bytes.length / uuidBytes) }, (_, at) => uuidOf(hex, 2 * uuidBytes * at))
}

/** Returns undefined beyond the last one. */
export function uuidAt(bytes: Uint8Array, at: number): string | undefined {
  const end = (at + 1) * uuidBytes
  return end > bytes.length ? undefined : uuidOf(hexOf(bytes.subarray(end - uuidBytes, end)), 0)
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")
}

function uuidOf(hex: string, at: number): string {
  return `${hex.slice(at, at + 8)}-${hex.slice(at + 8, at + 12)}-${hex.slice(at + 12, at + 16)}-${hex.slice(at + 16, at + 20)}-${hex.slice(at + 20, at + 32)}`
}
