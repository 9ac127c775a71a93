// Adyen's payment webhooks carry one signature per item of the batch, over eight of its fields. Every item must be signed.
// Otherwise one genuine item could carry forged ones.
import { keyBytes } from "../checks/key.ts"
import { hmacProver } from "../checks/prover.ts"
import { scalarsAt } from "../request/lift.ts"
import { Refused } from "../request/refusal.ts"
import type { SchemeContext } from "./scheme.ts"
import { type Matcher, noSecret } from "./signed-request.ts"

const signedFields = [
  ["pspReference"],
  ["originalReference"],
  ["merchantAccountCode"],
  ["merchantReference"],
  ["amount", "value"],
  ["amount", "currency"],
  ["eventCode"],
  ["success"],
] as const

const signaturePath = ["additionalData", "hmacSignature"]

export function prepareAdyenItems(context: SchemeContext): Matcher {
  const provers = context.secrets.flatMap(({ id, value }) => {
    const key = keyBytes(value, "hex")
    return key ? [hmacProver(id, key, "sha256", "base64")] : []
  })
  return (view) => {
    if (provers.length === 0) throw noSecret()
    const items = itemsOf(view.document)
    let secretId: string | undefined
    for (const [index, item] of items.entries()) {
      const [signature] = scalarsAt(item, signaturePath)
      if (!signature)
        throw new Refused("missing_signature", `notificationItems[${index}] has no additionalData.hmacSignature; every item must have one.`)
      const pieces = [signedFields.map((path) => scalarsAt(item, path)[0] ?? "").join(":")]
      const prover = provers.find((candidate) => candidate.over(pieces)(signature))
      if (!prover) {
        throw new Refused(
          "wrong_secret",
          `The signature of notificationItems[${index}] does not match any active secret: another key, or one of the eight signed fields was changed; the signature does not tell which.`,
        )
      }
      secretId ??= prover.secretId
    }
    return {
      ...(secretId !== undefined && { secretId }),
      proof: { body: items.map((_, index) => `notificationItems.${index}.NotificationRequestItem.additionalData.hmacSignature`) },
    }
  }
}

function itemsOf(document: unknown): unknown[] {
  const list = typeof document === "object" && document !== null ? (document as Record<string, unknown>)["notificationItems"] : undefined
  if (!Array.isArray(list) || list.length === 0) throw new Refused("missing_field", "The body has no notificationItems.")
  return list.map((element: unknown) => (element as Record<string, unknown> | null)?.["NotificationRequestItem"])
}
