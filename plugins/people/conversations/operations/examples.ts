// What examples of several operations need to be there.
import { resultOf } from "#core"

/** A number with connections for both channels. */
export const connectedNumber = (number: string) => ({
  connection: {
    operation: "integrations.connect",
    input: { app: "http", name: `Lines of ${number}`, share_with_org: true, credentials: { base_url: "https://messages.example.com" } },
  },
  number: {
    operation: "phone_numbers.register",
    input: {
      number,
      chat_app: {
        integration: resultOf("connection.integration_id"),
        phone_number_id: "106540352242922",
        business_account_id: "102290129340398",
      },
      sms: { integration: resultOf("connection.integration_id"), account_sid: "AC00000000000000000000000000000000" },
    },
  },
})
