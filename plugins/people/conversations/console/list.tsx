// The inbox: conversations of one channel, most recently active first.
import type { ComponentChildren } from "preact"
import {
  Ago,
  Answered,
  Badge,
  FilterBar,
  hrefOf,
  hrefWith,
  mayCall,
  Nothing,
  query,
  SameAs,
  Table,
  Tabs,
  UntrustedText,
  useAnswer,
} from "#console"
import { type ChannelWord, type Conversation, channels, isChannel, useNews } from "./conversation.ts"

const resets = ["cursor"]

export default function Inbox() {
  const { channel = "chat" } = query()
  const mail: [string, string][] = mayCall("email_conversations.list") ? [["mail", "Mail"]] : []
  return (
    <>
      <h1>Conversations</h1>
      <Tabs
        name="channel"
        tabs={[["chat", channels.chat.title], ["text", channels.text.title], ...mail]}
        drops={["cursor", "phone_number", "address", "domain", "answered"]}
      />
      {channel === "mail" ? <Mails /> : <Messages key={channel} word={isChannel(channel) ? channel : "chat"} />}
    </>
  )
}

/** Parameters of the address with a value. */
function given(names: readonly string[]): Record<string, string> {
  const asked = query()
  return Object.fromEntries(names.flatMap((name) => (asked[name] ? [[name, asked[name]]] : [])))
}

function Messages({ word }: { readonly word: ChannelWord }) {
  const { list, live } = channels[word]
  const input = given(["phone_number", "address", "cursor"])
  const listed = useAnswer<{ conversations: readonly Conversation[]; next_cursor: string }>(list, input)
  useNews(input["cursor"] ? undefined : live, listed)
  return (
    <>
      <FilterBar
        resets={resets}
        filters={[
          { name: "address", label: "the person's number", placeholder: "+49…" },
          { name: "phone_number", label: "our number", placeholder: "+49…" },
        ]}
      />
      <Answered of={listed}>
        {({ conversations, next_cursor }) => (
          <Page next={next_cursor} isFirst={!input["cursor"]}>
            {conversations.length === 0 ? (
              <Nothing>
                {Object.keys(input).length > 0
                  ? "No conversation is like this."
                  : "What people write to the organization's numbers shows up here."}
              </Nothing>
            ) : (
              <Table
                label="Conversations"
                rows={conversations}
                keyOf={({ session_id }) => session_id}
                columns={[
                  {
                    name: "with",
                    show: ({ session_id, address, display_name = "" }) => (
                      <a href={hrefOf(["conversations", word, session_id])}>
                        <UntrustedText text={display_name} otherwise={address} />
                      </a>
                    ),
                  },
                  { name: "number", show: ({ address }) => <span class="unbroken">{address}</span> },
                  { name: "last", show: (one) => <Last of={one} /> },
                  { name: "state", show: (one) => <State of={one} /> },
                  { name: "messages", show: ({ message_count }) => message_count, isNumber: true },
                  { name: "about", show: ({ summary }) => <UntrustedText text={summary} /> },
                  { name: "our number", show: ({ phone_number }) => <span class="unbroken">{phone_number}</span> },
                ]}
              />
            )}
          </Page>
        )}
      </Answered>
      <SameAs name={list} input={input} />
    </>
  )
}

function Last({ of: { sender_kind, last_inbound_at, last_outbound_at } }: { readonly of: Conversation }) {
  const isTheirs = sender_kind === "person"
  return (
    <span class="unbroken">
      {isTheirs ? "they" : "we"} <Ago value={isTheirs ? last_inbound_at : last_outbound_at} />
    </span>
  )
}

function State({ of: { suppressed, idle_closed_at, sender_kind } }: { readonly of: Conversation }) {
  if (suppressed) return <Badge tone="bad">opted out</Badge>
  if (sender_kind === "person" && idle_closed_at === null) return <Badge tone="warning">to be answered</Badge>
  return <Badge>{idle_closed_at === null ? "open" : "idle"}</Badge>
}

function Mails() {
  const input = given(["address", "domain", "answered", "cursor"])
  const listed = useAnswer("email_conversations.list", input)
  useNews(input["cursor"] ? undefined : "email_conversations", listed)
  return (
    <>
      <FilterBar
        resets={resets}
        filters={[{ name: "address" }, { name: "domain" }, { name: "answered", label: "they have written", choices: ["true", "false"] }]}
      />
      <Answered of={listed}>
        {({ conversations, next_cursor }) => (
          <Page next={next_cursor} isFirst={!input["cursor"]}>
            {conversations.length === 0 ? (
              <Nothing>
                {Object.keys(input).length > 0 ? "No conversation is like this." : "Mail that was sent to one person, or came from one."}
              </Nothing>
            ) : (
              <Table
                label="Conversations"
                rows={conversations}
                keyOf={({ id }) => id}
                columns={[
                  {
                    name: "with",
                    show: ({ id, name, address }) => (
                      <a href={hrefOf(["conversations", "mail", id])}>
                        <UntrustedText text={name || address} />
                      </a>
                    ),
                  },
                  { name: "address", show: ({ address }) => <UntrustedText text={address} /> },
                  {
                    name: "last",
                    show: ({ last_direction, last_message_at }) => (
                      <span class="unbroken">
                        {last_direction === "inbound" ? "they" : "we"} <Ago value={last_message_at} />
                      </span>
                    ),
                  },
                  { name: "subject", show: ({ subject }) => <UntrustedText text={subject.slice(0, 120)} /> },
                  { name: "said", show: ({ last_preview }) => <UntrustedText text={last_preview.slice(0, 120)} /> },
                  { name: "messages", show: ({ message_count }) => message_count, isNumber: true },
                ]}
              />
            )}
          </Page>
        )}
      </Answered>
      <SameAs name="email_conversations.list" input={input} />
    </>
  )
}

interface PageArgs {
  readonly next: string
  readonly isFirst: boolean
  readonly children: ComponentChildren
}

function Page({ next, isFirst, children }: PageArgs) {
  return (
    <>
      {children}
      <p>
        {!isFirst && <a href={hrefWith({ cursor: "" })}>Newest</a>} {next !== "" && <a href={hrefWith({ cursor: next })}>Older</a>}
      </p>
    </>
  )
}
