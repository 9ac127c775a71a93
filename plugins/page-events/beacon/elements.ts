// What elements of a page say of themselves. Only attributes are asked: a form's properties (id, name, action, method) are
// hidden by fields of these names.
import type { Element } from "./browser.ts"

/** What its author calls an element; never what it says. */
export const named = (element: Element) =>
  attribute(element, "data-cta") || attribute(element, "id") || attribute(element, "name") || element.tagName.toLowerCase()

export const attribute = (element: Element, name: string) => element.getAttribute(name) ?? ""

/** Whether a form is the page's, by the rule of what serves it: it goes to the page's own address, asks for nothing, and is not to be left alone. */
export const isOwn = (form: Element, page: string, button?: Element | null) => {
  const { origin, pathname } = new URL(sending(form, button, "action"), page)
  return (
    origin + pathname === page && form.getAttribute("data-mr-ignore") === null && !/^(get|dialog)$/i.test(sending(form, button, "method"))
  )
}

/** Whether a form of the page is sent as a lead, by the word of the button that sends it where that has one. */
export const isLead = (form: Element, page: string, button?: Element | null) =>
  isOwn(form, page, button) && /^post$/i.test(sending(form, button, "method"))

const sending = (form: Element, button: Element | null | undefined, what: "action" | "method") =>
  button?.getAttribute(`form${what}`) ?? attribute(form, what)
