// Sending as a durable job.
import { defineJob } from "#core"
import { sendJob } from "./job-ref.ts"
import { SenderToken } from "./sender.ts"

export const sendMessage = defineJob({
  ...sendJob,
  summary: "Sends a message to a person.",
  inject: { sender: SenderToken },
  run: ({ payload: { channel, message_id }, organization = "", deps, signal }) =>
    deps.sender.send(organization, channel, message_id, signal),
  exhausted: ({ payload: { channel, message_id }, organization = "", deps, work }) =>
    deps.sender.giveUp(work, organization, channel, message_id),
})
