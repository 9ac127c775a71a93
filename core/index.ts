// The one door: everything a plugin may import, as named re-exports.

export { type Action, Actions, defineAction, type Reply, type StepContext } from "./contract/action.ts"
export {
  type AuthModeExample,
  AuthModes,
  defineAuthMode,
  type HandshakeAnswer,
  type InboundRequest,
  type LiveSecret,
  type Proof,
  type SignedParts,
  type Verdict,
  type Verifier,
} from "./contract/auth-mode.ts"
export { Authenticator, type Caller, type Credentials, credentialsTopic, type Role, roleAtLeast, roles } from "./contract/caller.ts"
export {
  type Channel,
  channelPattern,
  coversChannel,
  defineChannel,
  isReservedChannel,
  Live,
  type LiveMessage,
  type RecallArgs,
  type RecalledMessage,
  reservedChannels,
} from "./contract/channel.ts"
export { Coherence, everyKey } from "./contract/coherence.ts"
export { type CollectionSpec, type Document, defineCollection, type Json } from "./contract/collection.ts"
export { Declared } from "./contract/declared.ts"
export { type Envelope, PageEnvelope } from "./contract/envelope.ts"
export { answered, type OperationExample } from "./contract/example.ts"
export { freeSlug, Name, Slug, SlugOrId, slugOf, Timestamp, Uuid } from "./contract/fields.ts"
export { PublicUrl } from "./contract/inbound.ts"
export { defaultRetry, defineJob, JobQueue, Postponed, type RetryPolicy, Scheduler } from "./contract/job.ts"
export { Leases } from "./contract/lease.ts"
export type { LintRule } from "./contract/lint-rule.ts"
export { Listening } from "./contract/listening.ts"
export { Metrics } from "./contract/metrics.ts"
export { defineOperation, type Operation, Operations, type Streamed } from "./contract/operation.ts"
export { type Capture, type OutgoingCall, type OutgoingMail, Outside } from "./contract/outside.ts"
export { type Page, Pager, pageInput } from "./contract/page.ts"
export { definePlugin, type Registrar } from "./contract/registrar.ts"
export type { RehearsalContext, RehearsalFixture, RehearsedConnection } from "./contract/rehearsal.ts"
export { requireRevision } from "./contract/revision.ts"
export { defineRoute, type Route, type RouteRequest, type RouteResponse } from "./contract/route.ts"
export { RowResult } from "./contract/row-result.ts"
export { type Collection, type Filter, type MergeWrite, type Sort, Store, type Update, type Write } from "./contract/store.ts"
export { Tally, windowS as tallyWindowS } from "./contract/tally.ts"
export { holdsTemplate, type Rendered, TemplateSlot, template, templateJson, templateRecord } from "./contract/template.ts"
export { measureWaiting } from "./contract/waiting-metrics.ts"
export { StagedWork, type Work, Works } from "./contract/work.ts"
export { JobCollection, type JobDocument } from "./jobs/jobs-collection.ts"
export { networkOf } from "./kernel/client-address.ts"
export { Clock, sleep, timestamp } from "./kernel/clock.ts"
export { type CoreConfig, Settings } from "./kernel/config.ts"
export { sameBytes, sameSecret } from "./kernel/constant-time.ts"
export { type Deps, type Service, type Token, token } from "./kernel/di.ts"
export { AppError, asAppError, type ErrorCode, type ErrorDetails, type FieldProblem } from "./kernel/errors.ts"
export { FairLimiter, type FairLimiterOptions, type LimitedWork } from "./kernel/fair-limiter.ts"
export { FairScheduler, type FairSchedulerOptions, type Share, type Turn } from "./kernel/fair-scheduler.ts"
export { nearest } from "./kernel/guess.ts"
export { derivedUuid, derivedUuidInOrder, Ids, isUuid } from "./kernel/ids.ts"
export { Log, type Logger, secretNames } from "./kernel/log.ts"
export type { CommandResult, PluginCommand } from "./kernel/plugin.ts"
export { fromHeaders, inSpan, type Span, traceHeaders } from "./kernel/tracing.ts"
export { type Sealed, Vault } from "./kernel/vault.ts"
export { type AcceptedEvent, type AcceptedEventHook, AcceptedEvents } from "./pipeline/accepted-events.ts"
export { documentFields, PipelineDocument, PipelineState, Purpose, SourceKind } from "./pipeline/document.ts"
export { type DryRun, type EventAnswer, type InternalEvent, PipelineEngine } from "./pipeline/engine.ts"
export { type FormFields, formDocument, readForm } from "./pipeline/event/form.ts"
export type { Finding } from "./pipeline/findings.ts"
export { type Arrival, type Intake, type IntakeJournal, Intakes, type ReplayArgs } from "./pipeline/intake.ts"
export { recalledAnnouncement } from "./pipeline/journal/announcement.ts"
export { EntryCollection } from "./pipeline/journal/collections.ts"
export type { JournalEntry, StepRecord } from "./pipeline/journal/entry.ts"
export { keptEvent } from "./pipeline/journal/kept.ts"
export { leadTargets, splitLeadsWarning } from "./pipeline/lint/split-leads.ts"
export { parseText } from "./pipeline/parse.ts"
export { filesIn, passedOver } from "./pipeline/pipeline-folder.ts"
export { PipelineSource, pipelineTopic, type StoredPipeline } from "./pipeline/source.ts"
export type { RequestStamp } from "./pipeline/stamp/stamp.ts"
export { classifyUserAgent } from "./pipeline/stamp/user-agent.ts"
export { notUtf8, utf8Text } from "./pipeline/utf8.ts"
export { AuditLog, type AuditRecord } from "./surface/call/audit.ts"
