// Reasons of refused live connections and subscriptions.
import { defineReasons } from "./define.ts"

export const liveReasons = defineReasons({
  channel_not_found: {
    code: "not_found",
    summary: "The channel has a reserved name, and is none of the service's own.",
    remedy: "Choose another name.",
  },
  expired_token: {
    code: "unauthenticated",
    summary: "The viewer's token has expired.",
    remedy: "Create a new one with `POST /v1/viewer-sessions`.",
  },
  invalid_channel: { code: "invalid_argument", summary: "The channel name is not valid." },
  invalid_handshake: { code: "invalid_argument", summary: "The socket's handshake is not valid." },
  invalid_token: {
    code: "unauthenticated",
    summary: "The token is not a viewer's token for this endpoint.",
    remedy: "Create one with `POST /v1/viewer-sessions`.",
  },
  reserved_channel: { code: "permission_denied", summary: "The channel is reserved for the service.", remedy: "Subscribe with a key." },
  too_many_anonymous_sockets: {
    code: "resource_exhausted",
    summary: "This node has too many anonymous sockets.",
    remedy: "Connect again later, or to another node.",
  },
  too_many_channels: {
    code: "resource_exhausted",
    summary: "The socket is subscribed to too many channels.",
    remedy: "Unsubscribe from some, or open another socket.",
  },
  too_many_sockets: {
    code: "resource_exhausted",
    summary: "This key, or this client IP without a key, has too many sockets.",
    remedy: "Close one.",
  },
  too_many_waiting: {
    code: "resource_exhausted",
    summary: "Too many subscriptions are pending on this socket.",
    remedy: "Wait for the answers before asking for more.",
  },
  unknown_endpoint: {
    code: "not_found",
    summary: "No active endpoint has this id.",
    remedy: "Check the endpoint, and that its pipeline is active.",
  },
  viewer_token: {
    code: "unauthenticated",
    summary: "A viewer's token was sent without the endpoint that it opens.",
    remedy: "Send the endpoint with the token.",
  },
})
