// Columns and values that name a person in rows of forms in many languages.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { personColumn } from "../../../plugins/data/datasets/index.ts"
import { normalEmail, personIn } from "../../../plugins/people/leads/identity.ts"
import { patiently, until } from "../../waiting.ts"

const columns = {
  email: `email|E-Mail|E-Mail-Adresse|Email (required)|Your email address:|workEmail|email2|Email ID|Email required|Ｅ－ｍａｉｌ|Email\u200B|
    Correo electrónico *|Dirección de correo electrónico|Tu correo|Votre e-mail *|Adresse e-mail|Courriel|Adresse électronique|
    メールアドレス|メール（必須）|Eメール|E-mail (確認用)|ご連絡先メールアドレス|Электронная почта|Адрес электронной почты|Ваш e-mail|Эл. почта|
    Endereço de e-mail|Seu e-mail|Correio eletrônico|Indirizzo e-mail|La tua email|Posta elettronica|邮箱|电子邮箱地址|您的邮箱|電子郵件|
    E-posta|E-posta adresiniz|E-POSTA ADRESİ|E-mailadres|Uw e-mailadres (verplicht)|Adres e-mail|البريد الإلكتروني|이메일 주소`,
  phone: `phone|Phone Number|mobileNumber|Mobile no.|Tel.|Telephone (home)|Contact number|WhatsApp|Teléfono|Teléfono móvil *|Número de celular|
    Número de teléfono|Telefonnummer|Handynummer|Ihre Telefonnummer*|Telefon (privat)|Rufnummer|電話番号|お電話番号|携帯電話番号|ご連絡先電話番号|
    Téléphone|Téléphone portable|N° de téléphone|Votre numéro de mobile|Телефон|Номер телефона|Контактный телефон|Мобильный телефон|
    Telefone|Telemóvel|Celular (com DDD)|Telefone para contato|Telefono|Numero di cellulare|Recapito telefonico|手机|手机号码|联系电话|電話號碼|您的手机号|
    Telefon numarası|TELEFON NUMARANIZ|Cep telefonu|GSM|Telefoonnummer|Mobiel nummer|Numer telefonu|Nr tel.|رقم الهاتف|الجوال|휴대폰 번호`,
}
const others = `voicemail|voice_mail|email_opt_in|mailing_list|phone_model|email template|email_template|emails_sent|email_verified|email status|
  phone_type|phone_country|headphone|microphone|hotel|mailbox|mail_server|mobile app|Fax|fax_number|Telefax|メールマガジン|メール配信|電話機種|留守番電話|
  手机型号|邮政编码|传真号码|Почтовый индекс|Código postal|Postleitzahl|address|Adresse|number|Nummer|company name|id|no|`

const namesIn = (text: string) => text.split("|").map((name) => name.trim())

describe("columns of people", () => {
  for (const [field, names] of Object.entries(columns)) {
    it(`hold ${field} in the languages of the web`, () => {
      expect(namesIn(names).map((name) => [name, personColumn(name).field])).to.deep.equal(namesIn(names).map((name) => [name, field]))
    })
  }

  it("hold neither if the words mean something else", () => {
    const matches = namesIn(others).filter((name) => ["email", "phone"].includes(personColumn(name).field ?? ""))
    expect(matches).to.deep.equal([])
  })

  it("with the plain name come before others", () => {
    const values = { "E-Mail geschäftlich": "work@example.com", work_email: "job@example.com", "Ihre E-Mail-Adresse": "own@example.com" }
    expect(personIn(values, "").email).to.equal("own@example.com")
  })

  it("hold the name in one part or in two", () => {
    const nameIn = (values: Record<string, string>) => personIn({ email: "a@example.com", ...values }, "").name
    for (const values of [
      { "Full name": "Ada Lovelace" },
      { first_name: "Ada", last_name: "Lovelace" },
      { Vorname: "Ada", Nachname: "Lovelace" },
      { Vorname: "Ada", Name: "Lovelace" },
      { Nombre: "Ada", Apellidos: "Lovelace" },
      { Nom: "Lovelace", Prénom: "Ada" },
      { Имя: "Ada", Фамилия: "Lovelace" },
      { お名前: "Ada Lovelace" },
      { Adınız: "Ada", Soyadınız: "Lovelace" },
      { name: "Ada Lovelace", first_name: "Ada" },
    ] as Record<string, string>[])
      expect([values, nameIn(values)]).to.deep.equal([values, "Ada Lovelace"])
    expect(nameIn({ company_name: "Acme", file_name: "a.png" })).to.equal("")
  })
})

describe("addresses in rows", () => {
  it("are read without hidden characters, links and names", () => {
    const texts = [
      "ada@example.com", "a\u200Bda@example.com", "\uFEFFada@example.com\u200E", "ada@exam\u00ADple.com", "\u00A0ada\u00A0@example.com", "\u202Eada@example.com\u202C",
      "mailto:Ada@Example.com?subject=Hello", "Ada Lovelace <ada@example.com>", '"Lovelace, Ada" <mailto:ada@example.com>', "ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ", "ada﹫example.com",
    ] // biome-ignore format: a list
    expect(texts.map((text) => [text, normalEmail(text)])).to.deep.equal(texts.map((text) => [text, "ada@example.com"]))
    for (const text of ["ada", "a@example.com, b@example.com", "<a@example.com> <b@example.com>", "mailto:", "", "a b@example.com"])
      expect([text, normalEmail(text)]).to.deep.equal([text, undefined])
  })
})

describe("leads of decorated columns", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ env: { MILLRACE_JOBS_POLL_MS: "50" } })
    await host.api("POST", "/v1/datasets", { name: "Forms" })
  })
  after(() => host.stop())

  it("are found by the address without its decoration", async () => {
    const rows = [
      { "E-Mail-Adresse": "one@example.com" },
      { "Email (required)": "two\u200B@example.com" },
      { メールアドレス: "Three <three@example.com>", 電話番号: "+81 90-1234-5678" },
      { voicemail: "never@example.com", email_opt_in: "never@example.com", phone_model: "+49 30 901820" },
      { "Votre e-mail *": "mailto:last@example.com" },
    ]
    await patiently(() => host.api("POST", "/v1/datasets/forms/rows", { rows }))
    const leads = await until("all leads", async () => {
      const { body } = await host.api<{ leads: { emails: string[]; phones: string[] }[] }>("GET", "/v1/leads")
      return body.leads.length >= 4 && body.leads
    })
    expect(leads.map(({ emails, phones }) => [...emails, ...phones].join()).sort()).to.deep.equal([
      "last@example.com",
      "one@example.com",
      "three@example.com,+819012345678",
      "two@example.com",
    ])
  })
})
