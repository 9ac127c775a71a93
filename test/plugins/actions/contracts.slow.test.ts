// The contract that every action type keeps, for those that ship.
import { contractOf } from "#core/testing"
import { conversationOptOutLink } from "../../../plugins/capture/actions/conversation-opt-out-link/conversation-opt-out-link.ts"
import { conversationReceive } from "../../../plugins/capture/actions/conversation-receive/conversation-receive.ts"
import { emailSend } from "../../../plugins/capture/actions/email-send/email-send.ts"
import { httpRequest } from "../../../plugins/capture/actions/http-request/http-request.ts"
import { integrationCall } from "../../../plugins/capture/actions/integration-call/integration-call.ts"
import { liveBroadcast } from "../../../plugins/capture/actions/live-broadcast/live-broadcast.ts"
import { pipelineSend } from "../../../plugins/capture/actions/pipeline-send/pipeline-send.ts"
import { respond } from "../../../plugins/capture/actions/respond/respond.ts"

const qualified = { name: "Qualified leads", source_kind: "internal", state: "active" }

contractOf(respond)
contractOf(liveBroadcast)
contractOf(pipelineSend, { prepare: (world) => world.invoke("event_pipelines.create", qualified) })
contractOf(emailSend)
contractOf(httpRequest)
contractOf(integrationCall)
contractOf(conversationReceive, { source_kind: "internal" })
contractOf(conversationOptOutLink)
