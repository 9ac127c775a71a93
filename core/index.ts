// Exports for authors of actions, API areas and auth modes. Exports for plugins close to the engine are in engine.ts.

export {
  type ActionFinding,
  type DocumentAround,
  defineAction,
  RowResult,
  type StepContext,
  type StepWarning,
} from "./contract/action.ts"
export {
  defineAuthMode,
  type EventContent,
  type HandshakeResponse,
  type InboundRequest,
  type Proof,
  type Verdict,
  type VerificationSecret,
  type Verifier,
} from "./contract/auth-mode.ts"
export { type AnyCaller, type Caller, roleAtLeast } from "./contract/caller.ts"
export { callerKind, isPerson } from "./contract/caller-kind.ts"
export { defineChannel, Live } from "./contract/channel.ts"
export { allKeys, CacheInvalidation, type ClockCorrection, ClockCorrections, Leases, maxSkewMs } from "./contract/cluster.ts"
export { type Document, defineCollection, type Json } from "./contract/collection.ts"
export {
  AnyJson,
  Name,
  omitReadOnly,
  readOnlyInput,
  readOnlyNote,
  Slug,
  SlugOrId,
  slugOf,
  slugTaken,
  Timestamp,
  Uuid,
  uniqueSlug,
} from "./contract/fields.ts"
export { defineJob, JobQueue, jobRef, Postponed } from "./contract/job.ts"
export type { LintRule } from "./contract/lint-rule.ts"
export { defineList } from "./contract/list.ts"
export { defineOperation, resultOf } from "./contract/operation.ts"
export { OutgoingHttp, type OutgoingRequest, type OutgoingResponse } from "./contract/outgoing-http.ts"
export { Pager, pageInput, wholeListInput, wholeListPage } from "./contract/pagination.ts"
export { RateLimiter } from "./contract/rate-limiter.ts"
export { definePlugin, type Registrar } from "./contract/registrar.ts"
export { requireRevision, stageRevision } from "./contract/revision.ts"
export { defineRoute, PublicUrl, type RouteRequest, type RouteResponse } from "./contract/route.ts"
export { Scripts } from "./contract/sandbox.ts"
export { Scheduler } from "./contract/schedule.ts"
export { type Changes, type Collection, changesOf, type FieldsOf, type Filter, Store, type Update } from "./contract/store.ts"
export { containsTemplate, type Rendered, TemplateSlot, template, templateJson, templateRecord } from "./contract/template.ts"
export { isConflict, type StagedCollection, type UnitOfWork, UnitsOfWork } from "./contract/unit-of-work.ts"
export { Clock, timestamp } from "./kernel/clock.ts"
export { CommandProblem, type PluginCommand } from "./kernel/command.ts"
export { Settings } from "./kernel/config.ts"
export { type Deps, token } from "./kernel/di.ts"
export { AppError } from "./kernel/errors.ts"
export { defineExtensionPoint, type ExtensionPoint, injected } from "./kernel/extension-point.ts"
export { Html, html, noHtml } from "./kernel/html.ts"
export { derivedUuid, derivedUuidInOrder, Ids, isUuid } from "./kernel/ids.ts"
export { exactJson, isRecord, parsedJson } from "./kernel/json.ts"
export { Log, type Logger } from "./kernel/log.ts"
export { type LogLine, LogLines } from "./kernel/log-lines.ts"
export { giveWay } from "./kernel/main-thread.ts"
export { allDone, throwUncaught } from "./kernel/promises.ts"
export { defineReasons, FieldProblems, type ReasonsOf } from "./kernel/reasons/define.ts"
export { defineStateMachine, machineArticle, nextState, possibleEvents, type StateMachine } from "./kernel/state-machine.ts"
export { type Sealed, sameBytes, sameSecret, Vault } from "./kernel/vault.ts"
export { byId, givenKey, namedKey, slugFrom } from "./resource/keys.ts"
export { defineResource, type ItemOf } from "./resource/resource.ts"
