// The size of a PNG, read from its header (PNG specification, section 11.2.1).

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Throws for bytes that are not a PNG. */
export function sizeOfPng(bytes: Buffer): { width: number; height: number } {
  if (bytes.length < 33 || !bytes.subarray(0, 8).equals(signature) || bytes.toString("latin1", 12, 16) !== "IHDR") {
    throw new Error("The browser's image is not a PNG.")
  }
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}
