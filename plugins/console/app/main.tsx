// The page: signing in, the areas beside the place that is shown, and what is wrong with the connection.
import { useSignal } from "@preact/signals"
import { render } from "preact"
import { areaOf, load, may, me, operations, signIn, signOut, trouble, words } from "./api.ts"
import { Area, Do, One } from "./area.tsx"
import { openPalette, Palette } from "./palette.tsx"
import { follow, go, hrefOf, place, segments } from "./place.ts"

function SignIn() {
  const problem = useSignal("")
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const key = String(new FormData(event.currentTarget as HTMLFormElement).get("key") ?? "").trim()
    problem.value = key === "" ? "Give a key." : await signIn({ key })
  }
  return (
    <main id="main" class="sign-in">
      <h1>Millrace</h1>
      <form onSubmit={(event) => void submit(event)} aria-label="Sign in" noValidate>
        <label for="key">API key</label>
        <input id="key" name="key" type="password" autocomplete="current-password" aria-describedby="key-problem" />
        <p id="key-problem" role="alert" class="problem">
          {problem.value}
        </p>
        <button type="submit">Sign in</button>
      </form>
      <p>The first start of the service prints a key, and a link that signs in once.</p>
    </main>
  )
}

function Place() {
  const [area, id, name] = segments()
  if (area === undefined) return <Home />
  if (id === "-" && name !== undefined) return <Do key={name} name={name} />
  if (id !== undefined) return <One key={`${area} ${id}`} area={area} id={id} />
  return <Area key={area} area={area} />
}

function Home() {
  return (
    <>
      <h1>{me.value?.organization.name}</h1>
      <p>
        Signed in as {me.value?.user?.email ?? "a service"}, {me.value?.role}. Choose an area, or press Ctrl K to go anywhere.
      </p>
    </>
  )
}

function App() {
  if (me.value === undefined) return <p role="status">Loading</p>
  if (me.value === null) return <SignIn />
  const areas = [...new Set(operations.value.filter(may).map(areaOf))].sort()
  const [current] = segments()
  return (
    // biome-ignore lint/a11y: links are followed here, by keyboard as well
    <div class="frame" onClick={follow}>
      <a class="skip" href="#main">
        To the content
      </a>
      <header>
        <a href={hrefOf([])}>Millrace</a>
        <span>{me.value.organization.slug}</span>
        <button type="button" onClick={openPalette}>
          Go to <kbd>Ctrl K</kbd>
        </button>
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </header>
      {trouble.value !== "" && <p role="alert">{trouble.value}</p>}
      <nav aria-label="Areas" class="areas">
        {areas.map((area) => (
          <a key={area} href={hrefOf([area])} aria-current={area === current ? "page" : undefined}>
            {words(area)}
          </a>
        ))}
      </nav>
      <main id="main" tabIndex={-1}>
        <Place />
      </main>
      <Palette />
    </div>
  )
}

async function start(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code")
  // Out of the address before anything else: it is not to be kept in the history.
  if (code !== null) go(place.value.pathname, { replace: true })
  await load()
  if (code !== null && me.value === null) await signIn({ code })
}

const root = document.getElementById("app")
if (root) render(<App />, root)
void start()
