// Feeds received mail to pipelines with mail as their source: an event per mail and pipeline.
import { z } from "zod"
import { defineJob, derivedUuid, type JobQueue, type Json, jobRef, Store, token, type UnitOfWork } from "#core"
import { PipelineEngine, PipelineSource } from "#core/engine"
import type { EventPipelines } from "../../../capture/pipelines/index.ts"
import { ownHeader } from "../../email/index.ts"
import { InboundMailCollection, type StoredMail } from "../collections.ts"
import { MessageCollection, type StoredMessage } from "../conversations/collections.ts"
import type { ReceivedMail } from "../handlers.ts"
import { originOf } from "../origin/mail-origin.ts"
import { headersOf } from "../parse/content.ts"

/** Pipelines per mail and organization. */
const maxPipelines = 50

const feedRef = jobRef("inbound_mail.feed", z.object({ organization: z.string(), mail_id: z.string(), pipeline_id: z.string() }))

export class Feeding {
  readonly #queue: JobQueue
  readonly #pipelines: EventPipelines

  constructor(queue: JobQueue, pipelines: EventPipelines) {
    this.#queue = queue
    this.#pipelines = pipelines
  }

  /** Stages an event for each active pipeline. Skips automatic answers and the service's own mail, because both could loop. */
  async plan(work: UnitOfWork, mail: ReceivedMail, { inbound }: Pick<StoredMessage, "inbound">): Promise<void> {
    if (inbound?.quarantined || originOf(mail) === "answer" || headersOf(mail.content, ownHeader.toLowerCase()).length > 0) return
    const { id } = mail
    const { organization } = mail.route
    const request = { source_kind: "inbound_email", state: "active", limit: maxPipelines, cursor: "" } as const
    const { items } = await this.#pipelines.list(organization, request)
    for (const pipeline of items) {
      const payload = { organization, mail_id: id, pipeline_id: pipeline.id }
      this.#queue.enqueue(work, feedRef, payload, { organization, key: pipeline.id, id: derivedUuid("feed", id, pipeline.id) })
    }
  }
}

export const FeedingToken = token<Feeding>("MailFeeding")

export const feedJob = defineJob(feedRef, {
  summary: "Puts a received mail through a pipeline.",
  inject: { store: Store, engine: PipelineEngine, source: PipelineSource },
  async run({ payload: { organization, mail_id, pipeline_id }, deps: { store, engine, source }, log }) {
    const mail = await store.open(InboundMailCollection, organization).get(mail_id)
    const message = await store.open(MessageCollection, organization).get(mail?.same_as ?? mail_id)
    const pipeline = await source.byId(organization, pipeline_id)
    if (!message || !mail || pipeline?.document.state !== "active") return
    const { execution_id, status } = await engine.submit(pipeline, { payload: eventOf(message, mail), idempotencyKey: mail.event_id })
    log.info({ mail: mail_id, pipeline: pipeline.slug, execution_id, status }, "gave a received mail to a pipeline")
  },
})

/** Returns the pipeline payload of a mail. */
function eventOf(message: StoredMessage, { envelope, event_recipients, domain }: StoredMail): Json {
  const { authentication, automatic = false, problem = "" } = message.inbound ?? {}
  const { spf = "none", dkim = "none", dmarc = "none" } = authentication ?? {}
  return {
    message_id: message.message_id,
    conversation_id: message.conversation_id,
    from: message.from.address,
    from_name: message.from.name,
    to: message.to.map(({ address }) => address),
    cc: message.cc.map(({ address }) => address),
    recipients: [...(event_recipients ?? envelope.recipients)],
    domain,
    subject: message.subject,
    text: message.text,
    attachments: message.attachments.map((attachment) => ({ ...attachment })),
    received_at: message.at,
    authentication: { spf, dkim, dmarc },
    automatic,
    problem,
  }
}
