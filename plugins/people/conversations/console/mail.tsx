// One conversation by mail: texts, the sender authentication of each message, and links to files.
import "./conversations.css"
import { useSignal } from "@preact/signals"
import {
  Answered,
  Badge,
  formatNumber,
  hrefWith,
  type Output,
  query,
  SameAs,
  type ScreenProps,
  Time,
  UntrustedText,
  useAnswer,
} from "#console"
import { useNews } from "./conversation.ts"

type Message = Output<"email_conversations.get">["messages"][number]

const maxShown = 4_000

export default function MailScreen({ params }: ScreenProps) {
  const { id = "" } = params
  const { cursor = "" } = query()
  const input = { id, limit: 20, ...(cursor === "" ? {} : { cursor }) }
  const read = useAnswer("email_conversations.get", input)
  useNews("email_conversations", read, (data) => (data as { readonly conversation_id?: unknown }).conversation_id === id)
  return (
    <>
      <p>
        <a href="/console/conversations?channel=mail">Conversations</a>
      </p>
      <Answered of={read}>
        {({ conversation, messages, next_cursor }) => (
          <>
            <h1>
              <UntrustedText text={conversation.name || conversation.address} />
            </h1>
            <p class="about">
              <a href={`mailto:${encodeURIComponent(conversation.address)}`}>
                <UntrustedText text={conversation.address} />
              </a>
              , by {conversation.domain}: <UntrustedText text={conversation.subject} otherwise="no subject" />
            </p>
            <p>
              {next_cursor !== "" && <a href={hrefWith({ cursor: next_cursor })}>Older messages</a>}{" "}
              {cursor !== "" && <a href={hrefWith({ cursor: "" })}>Newest messages</a>}
            </p>
            <ol class="messages" aria-label="Messages">
              {[...messages].reverse().map((message) => (
                <Mail key={message.id} conversation={id} message={message} />
              ))}
            </ol>
          </>
        )}
      </Answered>
      <SameAs name="email_conversations.get" input={input} />
    </>
  )
}

function Mail({ conversation, message }: { readonly conversation: string; readonly message: Message }) {
  const { direction, from, subject, text, at, inbound } = message
  const isWhole = useSignal(false)
  return (
    <li class={direction === "inbound" ? "in" : "out"}>
      <p>
        <strong>
          <UntrustedText text={subject} otherwise="no subject" />
        </strong>
      </p>
      <UntrustedText text={isWhole.value ? text : text.slice(0, maxShown)} isParagraph otherwise={<p class="about">no text</p>} />
      {text.length > maxShown && !isWhole.value && (
        <button
          type="button"
          onClick={() => {
            isWhole.value = true
          }}
        >
          Show all {formatNumber(text.length)} characters
        </button>
      )}
      <p class="about">
        <UntrustedText text={from.name === "" ? from.address : `${from.name} <${from.address}>`} />, <Time value={at} />
      </p>
      {inbound && (
        <p>
          <Badge tone={inbound.authentication.dmarc === "pass" ? "good" : "warning"}>DMARC {inbound.authentication.dmarc}</Badge>{" "}
          <Badge>SPF {inbound.authentication.spf}</Badge> <Badge>DKIM {inbound.authentication.dkim}</Badge>{" "}
          {inbound.quarantined && <Badge tone="bad">quarantined</Badge>} {inbound.automatic && <Badge>automatic</Badge>}{" "}
          {inbound.problem !== "" && <Badge tone="warning">{inbound.problem.replaceAll("_", " ")}</Badge>}
        </p>
      )}
      {inbound && <Files conversation={conversation} message={message} />}
    </li>
  )
}

/** Links expire after 15 minutes, so the screen requests them only when the list is open. */
function Files({ conversation, message }: { readonly conversation: string; readonly message: Message }) {
  const isOpen = useSignal(false)
  const listed = useAnswer(isOpen.value ? "email_conversations.list_files" : undefined, { id: conversation, message: message.id })
  const { length } = message.attachments
  return (
    <details
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open
      }}
    >
      <summary>{length === 0 ? "The message as it came" : `The message as it came, and ${formatNumber(length)} files`}</summary>
      {isOpen.value && (
        <Answered of={listed}>
          {({ files }) => (
            <ul class="lines">
              {files.length === 0 && <li>They are kept no longer.</li>}
              {files.map(({ filename, media_type, size, url }) => (
                <li key={url}>
                  <a href={url} download rel="noreferrer">
                    <UntrustedText text={filename} otherwise="without a name" />
                  </a>{" "}
                  <small>
                    {media_type}, {formatNumber(Math.ceil(size / 1_024))} KB
                  </small>
                </li>
              ))}
            </ul>
          )}
        </Answered>
      )}
    </details>
  )
}
