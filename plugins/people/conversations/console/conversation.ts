// Types of conversations for the screens, and the operations of each channel.
import { useEffect, useRef } from "preact/hooks"
import { type Answer, useLive } from "#console"

export interface Conversation {
  readonly session_id: string
  readonly address: string
  readonly phone_number: string
  readonly display_name?: string
  readonly lead_reference: string
  readonly sender_kind: string
  readonly message_count: number
  readonly last_inbound_at: string | null
  readonly last_outbound_at: string | null
  readonly suppressed: boolean
  readonly contact: Readonly<Record<string, string>>
  readonly summary: string
  readonly topics: readonly string[] | null
  readonly idle_closed_at: string | null
}

export interface Message {
  readonly id: string
  readonly direction: "in" | "out"
  readonly at: string
  readonly provider_message_id: string
  readonly kind: string
  readonly text: string
  readonly media: readonly Media[]
  readonly state: string
  readonly error: { readonly code: string; readonly message: string } | null
  // Chat app only.
  readonly location?: { readonly latitude: number; readonly longitude: number; readonly name: string; readonly address: string } | null
  readonly context?: { readonly provider_message_id: string; readonly forwarded: boolean } | null
  readonly referral?: { readonly source_type: string; readonly headline: string; readonly source_url: string } | null
  readonly reaction?: { readonly provider_message_id: string; readonly emoji: string } | null
  readonly template?: { readonly name: string; readonly language: string } | null
  readonly content?: unknown
}

export interface Media {
  readonly media_type: string
  readonly file_name: string
  readonly state: string
  readonly problem: string
  readonly size: number
  readonly url: string
}

/** By the channel's word in the address. */
export const channels = {
  chat: {
    channel: "chat_app",
    title: "Chat app",
    live: "chatapp_conversations",
    list: "chatapp_conversations.list",
    get: "chatapp_conversations.get",
  },
  text: {
    channel: "sms",
    title: "Text messages",
    live: "text_conversations",
    list: "text_conversations.list",
    get: "text_conversations.get",
  },
} as const

export type ChannelWord = keyof typeof channels

export const isChannel = (word: string): word is ChannelWord => Object.hasOwn(channels, word)

const soonMs = 250

/**
 * Reloads data when a live channel reports a change. Under many messages the next read starts after the current read ends. A busy
 * channel then neither floods the service nor delays the page.
 */
export function useNews(
  channel: string | undefined,
  of: Pick<Answer<unknown>, "reload" | "isLoading">,
  isAbout: (data: unknown) => boolean = () => true,
): void {
  const now = useRef(of)
  now.current = of
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const soon = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      if (now.current.isLoading) soon()
      else now.current.reload()
    }, soonMs)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  useLive(channel, {
    onMessage({ data }) {
      if (isAbout(data)) soon()
    },
    onGap: soon,
  })
}
