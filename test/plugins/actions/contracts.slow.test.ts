// The contract of action types, for the shipped ones.
import { contractOf } from "#core/testing"
import conversationOptOutLinkPlugin from "../../../plugins/capture/actions/conversation-opt-out-link/index.ts"
import conversationReceivePlugin from "../../../plugins/capture/actions/conversation-receive/index.ts"
import emailSendPlugin from "../../../plugins/capture/actions/email-send/index.ts"
import httpRequestPlugin from "../../../plugins/capture/actions/http-request/index.ts"
import integrationCallPlugin from "../../../plugins/capture/actions/integration-call/index.ts"
import liveBroadcastPlugin from "../../../plugins/capture/actions/live-broadcast/index.ts"
import pipelineSendPlugin from "../../../plugins/capture/actions/pipeline-send/index.ts"
import respondPlugin from "../../../plugins/capture/actions/respond/index.ts"
import { actionOf } from "../declared-by.ts"

const liveBroadcast = actionOf(liveBroadcastPlugin)
const pipelineSend = actionOf(pipelineSendPlugin)
const respond = actionOf(respondPlugin)
const emailSend = actionOf(emailSendPlugin)
const httpRequest = actionOf(httpRequestPlugin)
const integrationCall = actionOf(integrationCallPlugin)
const conversationReceive = actionOf(conversationReceivePlugin)
const conversationOptOutLink = actionOf(conversationOptOutLinkPlugin)

const qualified = { name: "Qualified leads", source_kind: "internal", state: "active" }

contractOf(respond)
contractOf(liveBroadcast)
contractOf(pipelineSend, { prepare: (world) => world.invoke("event_pipelines.create", qualified) })
contractOf(emailSend)
contractOf(httpRequest)
contractOf(integrationCall)
contractOf(conversationReceive, { source_kind: "internal" })
contractOf(conversationOptOutLink)
