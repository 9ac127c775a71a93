// The action type live.broadcast.
import { z } from "zod"
import { AppError, containsTemplate, defineAction, definePlugin, derivedUuidInOrder, type Json, Live, template, templateJson } from "#core"
import { channelPattern, isReservedChannel } from "#core/engine"
import { reasons } from "./reasons.ts"

export default definePlugin({
  id: "action-live-broadcast",
  reasons,
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(liveBroadcast),
})

const Channel = z
  .string()
  .regex(channelPattern, "letters, digits and . _ - : between them, at most 100")
  .refine((name) => !isReservedChannel(name), "one of the service's own channels")

/**
 * Sends a live message about the event to open sockets. The message is part of the event's commit. Subscribers see the message
 * after the event is on disk, and a failed execution sends no message.
 */
export const liveBroadcast = defineAction({
  type: "live.broadcast",
  summary: "Broadcast a live update.",
  description:
    "Sent to the organization's subscribers of the channel once the event is on disk, and kept for an hour for clients that reconnect.",
  timing: "commit",
  idempotency: "exactly_once",
  config: z.strictObject({
    channel: template(z.string().regex(channelPattern, "letters, digits and . _ - : between them, at most 100")).describe("Channel name."),
    event: template(z.string().min(1).max(100)).optional().describe("Event name for subscribers; `message` when absent."),
    data: templateJson().optional().describe("Payload; the event when absent."),
    public: z.boolean().default(false).describe("Send it to anonymous viewers of this pipeline's endpoint as well."),
  }),
  result: z.object({ message_id: z.string(), channel: z.string() }),
  examples: [
    {
      title: "Show a lead on a dashboard",
      yaml: `type: live.broadcast
channel: leads
event: lead.created
data: { email: "{{ event.email }}" }`,
    },
    {
      title: "A counter on a public page",
      yaml: `type: live.broadcast
channel: signups
public: true
data: { region: "{{ envelope.region }}" }`,
    },
  ],
  inject: { live: Live },
  broadcastsTo: ({ channel: { source } }) => (typeof source === "string" && !containsTemplate(source) ? [source] : []),
  lint({ channel: { source } }) {
    if (typeof source !== "string") return []
    const fixed = source.split(/\{\{|\{%/)[0] ?? ""
    if (!isReservedChannel(containsTemplate(source) ? `${fixed}x` : fixed)) return []
    const message = `"${source}" is one of the service's own channels, which pipelines cannot broadcast to; choose another name.`
    return [{ rule: "reserved-channel", level: "error", message, field: "channel" }]
  },
  run({ config, context, deps, work }) {
    const channel = Channel.safeParse(config.channel)
    if (!channel.success) {
      const message = `Nothing can be broadcast to ${JSON.stringify(config.channel)}: ${channel.error.issues[0]?.message}.`
      throw new AppError("invalid_argument", message, { reason: "channel_refused", retryable: false })
    }
    const { endpoint_id } = context.pipeline
    if (config.public && endpoint_id === null) {
      const message = "public: true needs an inbound endpoint with viewers; this pipeline has none."
      throw new AppError("failed_precondition", message, { reason: "no_endpoint", retryable: false })
    }
    const told = { channel: channel.data, event: config.event ?? "message", data: config.data === undefined ? context.event : config.data }
    const id = (audience: string): string => derivedUuidInOrder(context.originId, context.stepId, String(context.itemIndex), audience)
    const message_id = deps.live.stage(work, context.organization.id, told, id("organization"))
    if (config.public && endpoint_id !== null) {
      deps.live.stage(work, context.organization.id, { ...told, publicEndpoint: endpoint_id }, id("public"))
    }
    return { message_id, channel: channel.data }
  },
  preview: (config): Json => ({
    channel: config.channel,
    event: config.event ?? "message",
    public: config.public,
    ...(config.data === undefined ? {} : { data: config.data }),
  }),
})
