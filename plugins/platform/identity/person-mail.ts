// Mails of the service to a person: codes, links and notices. They belong to no organization.
import type { Mailer } from "../../people/email/index.ts"

export const personMailRetry = { max_attempts: 5, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 60_000 }

/** A field of each mail with a code. */
export const notYou = { label: "Not you?", value: "Ignore this mail, and pass the code to nobody." }

export async function mailPerson(mailer: Mailer, mail: Omit<Parameters<Mailer["send"]>[0], "organization" | "category">): Promise<void> {
  await mailer.send({ organization: "", category: "sign_in", ...mail })
}
