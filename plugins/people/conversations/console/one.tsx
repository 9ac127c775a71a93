// One conversation by chat app or text message: the person, the messages and the reply form.
import "./conversations.css"
import {
  Answered,
  Badge,
  Facts,
  go,
  hrefWith,
  mayCall,
  Nothing,
  OperationButton,
  query,
  SameAs,
  type ScreenProps,
  Time,
  UntrustedText,
  useAnswer,
} from "#console"
import { type ChannelWord, type Conversation, channels, isChannel, type Message, useNews } from "./conversation.ts"
import { Messages } from "./message.tsx"
import { Reply, StandingLine, useStanding } from "./reply.tsx"

interface Read {
  readonly conversation: Conversation
  readonly messages: readonly Message[]
  readonly next_cursor: string
}

const pageSize = 50
/** The permission to write depends on the time of day, so the page checks again at this interval. */
const standingMs = 60_000

export default function ConversationScreen({ params }: ScreenProps) {
  const { channel = "", id = "" } = params
  return isChannel(channel) ? (
    <One word={channel} id={id} />
  ) : (
    <Nothing>There are conversations by chat app, text message and mail.</Nothing>
  )
}

function One({ word, id }: { readonly word: ChannelWord; readonly id: string }) {
  const { get, channel, title, live } = channels[word]
  const { cursor = "" } = query()
  const input = { session_id: id, limit: pageSize, ...(cursor === "" ? {} : { cursor }) }
  const read = useAnswer<Read>(get, input)
  const conversation = read.answer?.conversation
  const ends = conversation && { channel, from: conversation.phone_number, to: conversation.address }
  const standing = useStanding(mayCall("consents.check") ? ends : undefined, standingMs)
  const waiting = useAnswer(mayCall("approvals.list") ? "approvals.list" : undefined, { state: "pending", limit: 200 })
  // An opt-out has no conversation id.
  const isAbout = (data: unknown) => {
    const { session_id } = data as { readonly session_id?: string }
    return session_id === undefined || session_id === id
  }
  useNews(live, read, isAbout)
  useNews(live, standing, isAbout)
  useNews(mayCall("approvals.list") ? "approvals" : undefined, waiting)
  return (
    <>
      <p>
        <a href={`/console/conversations${word === "chat" ? "" : `?channel=${word}`}`}>Conversations</a>
      </p>
      <Answered of={read}>
        {({ conversation: one, messages, next_cursor }) => (
          <>
            <h1>
              <UntrustedText text={one.display_name ?? ""} otherwise={one.address} />
            </h1>
            <p class="about">
              {title}, {one.address} to {one.phone_number} {one.suppressed && <Badge tone="bad">opted out</Badge>}
            </p>
            <StandingLine of={standing} />
            <About of={one} />
            <p>
              {next_cursor !== "" && <a href={hrefWith({ cursor: next_cursor })}>Older messages</a>}{" "}
              {cursor !== "" && <a href={hrefWith({ cursor: "" })}>Newest messages</a>}
            </p>
            <Messages newestFirst={messages} />
            {ends && mayCall("conversations.send") && (
              <Reply
                {...ends}
                waiting={waiting}
                onSent={() => {
                  read.reload()
                  standing.reload()
                  waiting.reload()
                }}
              />
            )}
            <p>
              <OperationButton
                operation={get.replace(".get", ".delete")}
                input={{ session_id: id }}
                ask="Delete this conversation with its messages and files? This cannot be taken back."
                isDangerous
                onDone={() => go("/console/conversations")}
              >
                Delete the conversation
              </OperationButton>
            </p>
          </>
        )}
      </Answered>
      <SameAs name={get} input={input} />
    </>
  )
}

function About({ of: { contact, summary, topics, lead_reference, idle_closed_at } }: { readonly of: Conversation }) {
  const known: [string, string][] = [...Object.entries(contact), ["topics", (topics ?? []).join(", ")], ["summary", summary]]
  const facts = known.filter(([, value]) => value !== "")
  if (facts.length === 0 && lead_reference === "") return null
  return (
    <details>
      <summary>About the person</summary>
      <Facts
        of={[
          ...facts.map(([name, value]) => [name, <UntrustedText key={name} text={value} />] as const),
          ...(lead_reference === "" ? [] : [["lead", <code key="lead">{lead_reference}</code>] as const]),
          ...(idle_closed_at === null ? [] : [["idle since", <Time key="idle" value={idle_closed_at} />] as const]),
        ]}
      />
    </details>
  )
}
