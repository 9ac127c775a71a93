// Messages of a conversation in time order. Text of people is plain text, and their files are links.
import { Badge, formatNumber, Time, type Tone, UntrustedText } from "#console"
import type { Media, Message } from "./conversation.ts"

const tones: Readonly<Record<string, Tone>> = {
  ...{ delivered: "good", read: "good", failed: "bad", refused: "bad", unknown: "warning" },
}

export function Messages({ newestFirst }: { readonly newestFirst: readonly Message[] }) {
  const byProviderId = new Map(newestFirst.map((one) => [one.provider_message_id, one]))
  const isBesideItsMessage = ({ reaction }: Message) => reaction && byProviderId.has(reaction.provider_message_id)
  return (
    <ol class="messages" aria-label="Messages">
      {newestFirst
        .filter((one) => !isBesideItsMessage(one))
        .reverse()
        .map((one) => (
          <li key={one.id} class={one.direction}>
            <Quoted of={one} known={byProviderId} />
            <Content of={one} />
            <Reactions to={one} among={newestFirst} />
            <p class="about">
              {one.direction === "in" ? "they" : "we"}, <Time value={one.at} />{" "}
              {one.direction === "out" && <Badge tone={tones[one.state] ?? "plain"}>{one.state}</Badge>}
            </p>
            {one.error && (
              <p class="problem">
                <UntrustedText text={`${one.error.message} (${one.error.code})`} />
              </p>
            )}
          </li>
        ))}
    </ol>
  )
}

/** Shows the start of the quoted message. */
function Quoted({ of: { context }, known }: { readonly of: Message; readonly known: ReadonlyMap<string, Message> }) {
  if (!context) return null
  if (context.forwarded) return <p class="about">forwarded</p>
  const answered = known.get(context.provider_message_id)
  return (
    <blockquote>
      {answered ? <UntrustedText text={answered.text.slice(0, 160)} otherwise={answered.kind} /> : "an earlier message"}
    </blockquote>
  )
}

function Content({ of: { kind, text, media, location, referral, reaction, template, content } }: { readonly of: Message }) {
  return (
    <>
      {referral && (
        <p class="about">
          came by {referral.source_type || "an advertisement"}: <UntrustedText text={referral.headline || referral.source_url} />
        </p>
      )}
      {template && (
        <p>
          Template <code>{template.name}</code> ({template.language})
        </p>
      )}
      {reaction && <p>reacted {reaction.emoji === "" ? "no more" : <UntrustedText text={reaction.emoji} />} to an earlier message</p>}
      {text !== "" && <UntrustedText text={text} isParagraph />}
      {media.map((one, index) => (
        <File key={index} of={one} />
      ))}
      {location && (
        <p>
          Location: <UntrustedText text={[location.name, location.address].filter(Boolean).join(", ")} />{" "}
          <a href={`geo:${location.latitude},${location.longitude}`}>
            {location.latitude}, {location.longitude}
          </a>
        </p>
      )}
      {text === "" && media.length === 0 && !location && !reaction && !template && <p class="about">{kind}</p>}
      {content !== null && content !== undefined && (
        <details>
          <summary>As the provider sent it</summary>
          <pre dir="ltr">{JSON.stringify(content, null, 2)}</pre>
        </details>
      )}
    </>
  )
}

function File({ of: { file_name, media_type, state, problem, size, url } }: { readonly of: Media }) {
  const name = <UntrustedText text={file_name} otherwise={media_type} />
  return (
    <p>
      {url === "" ? (
        name
      ) : (
        <a href={url} target="_blank" rel="noreferrer">
          {name}
        </a>
      )}{" "}
      <small>
        {media_type}, {state === "stored" ? `${formatNumber(Math.ceil(size / 1_024))} KB` : state}
        {problem !== "" && (
          <>
            : <UntrustedText text={problem} />
          </>
        )}
      </small>
    </p>
  )
}

/** Shows the newest reaction of each side. Removed reactions are left out. */
function Reactions({ to, among }: { readonly to: Message; readonly among: readonly Message[] }) {
  if (to.provider_message_id === "") return null
  const own = among.filter(({ reaction }) => reaction?.provider_message_id === to.provider_message_id)
  const newest = (["in", "out"] as const).flatMap((side) => own.find(({ direction }) => direction === side) ?? [])
  const shown = newest.filter(({ reaction }) => reaction?.emoji)
  if (shown.length === 0) return null
  return (
    <p>
      {shown.map(({ id, direction, reaction }) => (
        <Badge key={id}>
          <UntrustedText text={reaction?.emoji ?? ""} /> {direction === "in" ? "from them" : "from us"}
        </Badge>
      ))}
    </p>
  )
}
