// Enhanced status codes (RFC 3463): which of them say that an address is of no use.

/** Permanent, and yet about the message or its sender rather than the address, or of a mailbox that may be emptied. */
const aboutMessage = /^5\.(?:1\.[78]|2\.[23]|3\.4|4\.[67]|[567]\.\d+)$/

/** Whether mail to the address fails, regardless of its content and sender. */
export function isDeadAddress(status: string): boolean {
  return status.startsWith("5.") && !aboutMessage.test(status)
}
