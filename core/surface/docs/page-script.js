// The API reference in the browser: filters the operations and sends requests of the forms. The key stays in its field.
const filter = document.getElementById("filter")
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
  for (const section of document.querySelectorAll("nav section")) {
    const links = [...section.querySelectorAll("a")]
    for (const link of links) {
      link.hidden = !words.every((word) => link.dataset.find.includes(word))
      articleOf(link).hidden = link.hidden
    }
    section.hidden = links.every((link) => link.hidden)
    articleOf(links[0]).parentElement.hidden = section.hidden
  }
})

// Marks the visible operation in the navigation.
const links = new Map([...document.querySelectorAll("nav a")].map((link) => [articleOf(link), link]))
const seen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) links.get(target)?.toggleAttribute("aria-current", isIntersecting)
  },
  { rootMargin: "-15% 0px -75%" },
)
for (const article of links.keys()) seen.observe(article)

function articleOf(link) {
  return document.getElementById(link.hash.slice(1))
}

for (const form of document.querySelectorAll("form")) {
  const showCommand = () => {
    form.querySelector(".command").textContent = commandOf(form)
  }
  form.closest("details").addEventListener("toggle", showCommand)
  form.addEventListener("input", showCommand)
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    send(form).catch(reportError)
  })
}

async function send(form) {
  const outcome = form.querySelector(".outcome")
  outcome.hidden = false
  outcome.textContent = "Sending…"
  const began = performance.now()
  try {
    const response = await fetch(...requestOf(form))
    const text = await response.text()
    const took = Math.round(performance.now() - began)
    outcome.textContent = `${response.status} ${response.statusText} (${took} ms)\n\n${pretty(text)}`
  } catch (error) {
    outcome.textContent = `Not sent: ${error.message}`
  }
}

function requestOf(form) {
  const headers = new Headers()
  const query = new URLSearchParams()
  let path = form.dataset.path
  const key = document.getElementById("key").value.trim()
  if (key) headers.set("Authorization", `Bearer ${key}`)
  for (const { name, value, dataset } of form.querySelectorAll("input[data-in]")) {
    if (dataset.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value))
    else if (value && dataset.in === "query") query.append(name, value)
    else if (value) headers.set(name, value)
  }
  const body = form.querySelector("textarea")?.value
  if (body !== undefined) headers.set("Content-Type", "application/json")
  const url = query.size > 0 ? `${path}?${query}` : path
  return [url, { method: form.dataset.method, headers, body }]
}

/** Returns the shell command. A variable stands for the key. */
function commandOf(form) {
  const [path, { method, headers, body }] = requestOf(form)
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`
  const named = [...headers].filter(([name]) => name !== "authorization").map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
  const parts = [
    `-X ${method}`,
    '-H "Authorization: Bearer $MILLRACE_KEY"',
    ...named,
    ...(body === undefined ? [] : [`--data ${quoted(body)}`]),
  ]
  return `curl ${quoted(location.origin + path)} \\\n  ${parts.join(" \\\n  ")}`
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
