// One page: pictures of its variants, where it is, what is wrong with it, and what can be done with it.
import {
  Answered,
  Copy,
  Facts,
  Foreign,
  formatShare,
  hrefOf,
  mayCall,
  OperationButton,
  OperationForm,
  query,
  SameAs,
  type ScreenProps,
  Table,
  Tabs,
  Time,
  useAnswer,
} from "#console"
import { type Page, Status } from "./page.tsx"
import { Preview } from "./preview.tsx"

export default function PageScreen({ params }: ScreenProps) {
  const { slug = "" } = params
  const read = useAnswer<Page>("pages.get", { slug })
  const { part = "preview" } = query()
  return (
    <>
      <p>
        <a href={hrefOf(["pages"])}>Pages</a>
      </p>
      <Answered of={read}>
        {(page) => (
          <>
            <h1>
              <Foreign text={page.title} /> <Status status={page.status} />
            </h1>
            <Warnings warnings={page.warnings} />
            <Actions page={page} onDone={read.reload} />
            <Tabs
              name="part"
              tabs={[["preview", "Preview"], ["about", "About"], ...(mayCall("pages.update") ? ([["change", "Change"]] as const) : [])]}
            />
            {part === "preview" && <Preview page={page} />}
            {part === "about" && <About page={page} />}
            {part === "change" && <OperationForm name="pages.update" known={{ slug }} present={{ ...page }} onDone={read.reload} />}
          </>
        )}
      </Answered>
      {part !== "preview" && <SameAs name="pages.get" input={{ slug }} />}
    </>
  )
}

function Warnings({ warnings }: { readonly warnings: readonly string[] }) {
  return (
    <>
      {warnings.map((text) => (
        <p key={text} class="warning">
          <Foreign text={text} />
        </p>
      ))}
    </>
  )
}

function Actions({ page: { id, slug, title, status, url }, onDone }: { readonly page: Page; readonly onDone: () => void }) {
  const input = { slug }
  return (
    <div class="verbs">
      {status === "published" ? (
        <>
          <a href={url} target="_blank" rel="noopener noreferrer">
            Open as a visitor
          </a>
          <Copy text={url} name="address" />
          <OperationButton
            operation="pages.unpublish"
            input={input}
            ask={`Unpublish ${title}?`}
            about="Visitors are answered that there is no such page."
            isDangerous
            onDone={onDone}
          >
            Unpublish
          </OperationButton>
        </>
      ) : (
        <OperationButton operation="pages.publish" input={input} onDone={onDone}>
          Publish
        </OperationButton>
      )}
      {mayCall("page_analytics.query") && (
        <a href={hrefOf(["page_analytics"], { page: id })}>Visitors, funnel, conversion, vitals and friction</a>
      )}
    </div>
  )
}

function About({ page: { slug, url, single_page, published_at, updated_at, variants } }: { readonly page: Page }) {
  const all = variants.reduce((sum, { weight }) => sum + weight, 0)
  return (
    <>
      <Facts
        of={[
          ["slug", <code key="slug">{slug}</code>],
          ["address", <code key="url">{url}</code>],
          ["published", <Time key="published" value={published_at} />],
          ["changed", <Time key="changed" value={updated_at} />],
          ["several views in one page", single_page ? "yes" : "no"],
        ]}
      />
      <h2>Variants</h2>
      <Table
        label="Variants"
        rows={variants}
        keyOf={({ key }) => key}
        columns={[
          { name: "variant", show: ({ key }) => <code>{key}</code> },
          { name: "share of visitors", isNumber: true, show: ({ weight }) => formatShare(all > 0 ? weight / all : 0) },
        ]}
      />
      {variants.map(({ key, html }) => (
        <details key={key}>
          <summary>HTML of {key}</summary>
          <pre>{html}</pre>
        </details>
      ))}
    </>
  )
}
