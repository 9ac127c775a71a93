// Texts, subjects, names and file names in the charsets of mail, with right, wrong and missing labels.
import { expect } from "chai"
import iconv from "iconv-lite"
import type { MailContent } from "../../../plugins/people/inbound-mail/parse/content.ts"
import { readContent } from "../../../plugins/people/inbound-mail/parse/read-content.ts"

const german = "Können Sie mir bitte ein Angebot für fünf Geräte schicken? Schöne Grüße"
const french = "Pouvez-vous m'envoyer un devis pour cinq pièces détachées ? À bientôt"
const russian = "Здравствуйте, прошу подтвердить получение договора."
const ukrainian = "Доброго дня, надішліть, будь ласка, п'ять їхніх пропозицій."
const polish = "Proszę o ofertę na pięć urządzeń. Dziękuję, Łukasz"
const czech = "Prosím o nabídku, děkuji. Příliš žluťoučký kůň. Šárka"
const greek = "Παρακαλώ στείλτε μου προσφορά για πέντε συσκευές."
const hebrew = "אנא שלחו לי הצעת מחיר לחמישה מכשירים"
const arabic = "من فضلك أرسل لي عرض سعر لخمسة أجهزة"
const turkish = "Lütfen beş cihaz için teklif gönderir misiniz? Teşekkürler"
const thai = "กรุณาส่งใบเสนอราคาสำหรับเครื่องห้าเครื่อง"
const simplified = "关于合同的回复，请尽快确认，谢谢。"
const traditional = "關於合約的回覆，請儘快確認，謝謝。"
const japanese = "お世話になっております。契約書をご確認ください。"
const korean = "안녕하세요. 계약서를 확인해 주세요. 감사합니다."
const utf8 = (text: string) => Buffer.from(text, "utf8")
const jis = Buffer.from("\x1b$B%F%9%H\x1b(B", "latin1")

/** Declared content type, bytes, and expected text. */
const bodies: readonly (readonly [type: string, bytes: Buffer, text: string])[] = [
  // Right labels.
  ["text/plain; charset=utf-8", utf8(german), german],
  ["text/plain; charset=iso-8859-1", iconv.encode(german, "latin1"), german],
  ["text/plain; charset=iso-8859-1", iconv.encode("“Quotes” – and dashes…", "windows-1252"), "“Quotes” – and dashes…"],
  ["text/plain; charset=windows-1252", iconv.encode("5 € – “net”", "windows-1252"), "5 € – “net”"],
  ["text/plain; charset=iso-8859-15", iconv.encode("5 € cœur", "iso-8859-15"), "5 € cœur"],
  ["text/plain; charset=iso-8859-2", iconv.encode(polish, "iso-8859-2"), polish],
  ["text/plain; charset=windows-1250", iconv.encode(czech, "windows-1250"), czech],
  ["text/plain; charset=koi8-r", iconv.encode(russian, "koi8-r"), russian],
  ["text/plain; charset=koi8-u", iconv.encode(ukrainian, "koi8-u"), ukrainian],
  ["text/plain; charset=windows-1251", iconv.encode(russian, "windows-1251"), russian],
  ["text/plain; charset=cp866", iconv.encode(russian, "cp866"), russian],
  ["text/plain; charset=windows-1253", iconv.encode(greek, "windows-1253"), greek],
  ["text/plain; charset=windows-1254", iconv.encode(turkish, "windows-1254"), turkish],
  ["text/plain; charset=windows-1255", iconv.encode(hebrew, "windows-1255"), hebrew],
  ["text/plain; charset=windows-1256", iconv.encode(arabic, "windows-1256"), arabic],
  ["text/plain; charset=tis-620", iconv.encode(thai, "cp874"), thai],
  ["text/plain; charset=gb2312", iconv.encode(simplified, "gbk"), simplified],
  ["text/plain; charset=gb18030", iconv.encode(`${simplified}𠮷`, "gb18030"), `${simplified}𠮷`],
  ["text/plain; charset=big5", iconv.encode(traditional, "big5"), traditional],
  ["text/plain; charset=shift_jis", iconv.encode(`①${japanese}`, "cp932"), `①${japanese}`],
  ["text/plain; charset=euc-jp", iconv.encode(japanese, "euc-jp"), japanese],
  ["text/plain; charset=iso-2022-jp", jis, "テスト"],
  ["text/plain; charset=euc-kr", iconv.encode(`${korean} 뷁`, "cp949"), `${korean} 뷁`],
  ["text/plain; charset=ks_c_5601-1987", iconv.encode(korean, "cp949"), korean],
  ["text/plain; charset=iso-2022-kr", Buffer.from("\x1b$)C\x0eGQ1[\x0f ok", "latin1"), "한글 ok"],
  ["text/plain; charset=hz-gb-2312", Buffer.from("~{2bJT~} ok", "latin1"), "测试 ok"],
  ["text/plain; charset=utf-7", Buffer.from("Gr+APwA3w-e", "latin1"), "Grüße"],
  ["text/plain; charset=utf-16", iconv.encode(german, "utf-16"), german],
  ["text/plain; charset=cp850", iconv.encode(german, "cp850"), german],
  // Wrong labels.
  ["text/plain; charset=us-ascii", utf8("Grüße"), "Grüße"],
  ["text/plain; charset=x-unknown", utf8("Grüße"), "Grüße"],
  ["text/plain; charset=iso-2022-jp", utf8("テスト"), "テスト"],
  ["text/plain; charset=iso-8859-1", utf8(french), french],
  ["text/plain; charset=gb2312", utf8(simplified), simplified],
  ["text/plain; charset=windows-1251", utf8(russian), russian],
  ["text/plain; charset=utf-8", iconv.encode(german, "latin1"), german],
  ["text/plain; charset=utf-8", iconv.encode(simplified, "gbk"), simplified],
  ["text/plain; charset=utf-8", iconv.encode(russian, "windows-1251"), russian],
  ["text/plain; charset=us-ascii", iconv.encode(japanese, "cp932"), japanese],
  ["text/plain; charset=iso-2022-jp", iconv.encode(japanese, "cp932"), japanese],
  ["text/plain; charset=utf-16", Buffer.from("Plain text.", "latin1"), "Plain text."],
  // Missing labels.
  ["text/plain", utf8(korean), korean],
  ["text/plain", jis, "テスト"],
  ["text/plain", iconv.encode(german, "latin1"), german],
  ["text/plain", iconv.encode(traditional, "big5"), traditional],
  ["text/plain", iconv.encode(korean, "cp949"), korean],
  ["text/plain", iconv.encode(japanese, "euc-jp"), japanese],
  ["text/plain", iconv.encode(russian, "koi8-r"), russian],
  ["text/plain", iconv.encode(greek, "windows-1253"), greek],
  ["text/plain", iconv.encode(thai, "cp874"), thai],
  // Byte order marks.
  ["text/plain; charset=us-ascii", Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), utf8(german)]), german],
  ["text/plain", Buffer.concat([Buffer.from([0xff, 0xfe]), iconv.encode(russian, "utf-16le")]), russian],
  // Truncated or misspelled types.
  ["text", Buffer.from("Hello"), "Hello"],
  ["text; charset=koi8-r", iconv.encode(russian, "koi8-r"), russian],
  ["text/plain charset=gbk", iconv.encode("测试", "gbk"), "测试"],
  ["charset=big5", iconv.encode("測試", "big5"), "測試"],
  ["text/plain; charset=\"'windows-1251'\"", iconv.encode("Привет", "windows-1251"), "Привет"],
  ["text/html", iconv.encode("<meta charset=gbk><p>测试</p>", "gbk"), "测试"],
  ["text/enriched; charset=utf-8", utf8("Grüße"), "Grüße"],
]

const b = (charset: string, bytes: Buffer) => `=?${charset}?B?${bytes.toString("base64")}?=`
const subjects: readonly (readonly [raw: Buffer | string, subject: string])[] = [
  [b("utf-8", utf8(german)), german],
  [b("gb2312", iconv.encode("测试镕", "gbk")), "测试镕"],
  [b("us-ascii", utf8("Grüße")), "Grüße"],
  [b("x-unknown", utf8("Grüße")), "Grüße"],
  [b("unknown-8bit", iconv.encode("Grüße aus Köln", "latin1")), "Grüße aus Köln"],
  [b("utf-8", iconv.encode(simplified, "gbk")), simplified],
  [b("iso-2022-jp", jis), "テスト"],
  [b("iso-2022-jp", utf8("テスト")), "テスト"],
  [b("cp932", iconv.encode("①会議", "cp932")), "①会議"],
  [b("ks_c_5601-1987", iconv.encode("시험", "cp949")), "시험"],
  [b("iso-8859-1", iconv.encode("5 € – net", "windows-1252")), "5 € – net"],
  [`${b("utf-8", utf8("测试").subarray(0, 4))}\r\n ${b("utf-8", utf8("测试").subarray(4))}`, "测试"],
  [`${b("koi8-r", iconv.encode("Привет", "koi8-r"))}\r\n ${b("utf-8", utf8(", мир"))}`, "Привет, мир"],
  ["=?iso-8859-1?Q?Gr=FC=DFe_aus?= Berlin", "Grüße aus Berlin"],
  [utf8(russian), russian],
  [iconv.encode("测试", "gbk"), "测试"],
  [iconv.encode("Grüße aus Köln", "latin1"), "Grüße aus Köln"],
  [iconv.encode("Réunion à dix heures", "latin1"), "Réunion à dix heures"],
  [iconv.encode("会議のお知らせ", "cp932"), "会議のお知らせ"],
  [iconv.encode("Встреча завтра", "koi8-r"), "Встреча завтра"],
  [iconv.encode("Встреча завтра", "windows-1251"), "Встреча завтра"],
  [iconv.encode("會議通知", "big5"), "會議通知"],
  [iconv.encode("회의 안내", "cp949"), "회의 안내"],
  [jis, "テスト"],
]

function mail(headers: Readonly<Record<string, Buffer | string>>, body: Buffer | string): Buffer {
  const lines = Object.entries(headers).flatMap(([name, value]) => [`${name}: `, value, "\r\n"])
  return Buffer.concat([...lines, "\r\n", body].map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : part)))
}

describe("the text of a message", () => {
  const read = async (type: string, bytes: Buffer): Promise<MailContent> =>
    readContent(mail({ From: "a@x.test", "Content-Type": type }, bytes))

  it(`is read in ${bodies.length} combinations of charset and label`, async () => {
    for (const [type, bytes, text] of bodies) {
      const content = await read(type, bytes)
      expect([type, content.text.trim(), content.problem]).to.deep.equal([type, text, ""])
    }
  })

  it("is read in quoted-printable and in base64 as well", async () => {
    for (const [encoding, body] of [
      ["quoted-printable", "Gr=C3=BC=C3=9Fe"],
      ["base64", utf8("Grüße").toString("base64")],
    ]) {
      const headers = { From: "a@x.test", "Content-Type": "text/plain; charset=us-ascii", "Content-Transfer-Encoding": encoding ?? "" }
      expect((await readContent(mail(headers, body ?? ""))).text.trim()).to.equal("Grüße")
    }
  })

  it("takes the charset of another part if it has no label", async () => {
    const headers = { Subject: b("big5", iconv.encode("測試", "big5")), "Content-Type": "text/plain" }
    const { subject, text } = await readContent(mail(headers, iconv.encode("測試", "big5")))
    expect([subject, text.trim()]).to.deep.equal(["測試", "測試"])
  })

  it("says so if bytes have no meaning in any charset", async () => {
    const cut = await read("text/plain; charset=utf-8", Buffer.concat([utf8(japanese), Buffer.from([0xe3, 0x81])]))
    expect([cut.text.trim(), cut.problem]).to.deep.equal([`${japanese}\ufffd`, "undecodable"])
    const long = await read("text/plain; charset=utf-8", utf8(`${"a".repeat(256 * 1_024 - 1)}😀`))
    expect([long.text.at(-1), long.problem], "a cut between the halves of a character").to.deep.equal(["a", ""])
  })
})

describe("the headers of a message", () => {
  it(`have readable subjects in ${subjects.length} forms`, async () => {
    for (const [raw, subject] of subjects)
      expect((await readContent(mail({ From: "a@x.test", Subject: raw }, "x"))).subject).to.equal(subject)
  })

  it("have readable names", async () => {
    for (const [raw, name] of [
      [Buffer.concat([iconv.encode("Иван Петров", "koi8-r"), Buffer.from(" <a@x.test>")]), "Иван Петров"],
      [Buffer.concat([Buffer.from('"'), iconv.encode("Müller, Jörg", "latin1"), Buffer.from('" <a@x.test>')]), "Müller, Jörg"],
      [`${b("us-ascii", utf8("Zoë"))} <a@x.test>`, "Zoë"],
    ] as const)
      expect((await readContent(mail({ From: raw }, "x"))).from).to.deep.equal({ name, address: "a@x.test" })
  })

  it("have readable names of attachments", async () => {
    for (const [raw, name] of [
      [`filename*=gbk''%B2%E2%CA%D4.pdf`, "测试.pdf"],
      [`filename*=us-ascii''%E6%B5%8B%E8%AF%95.pdf`, "测试.pdf"],
      [`filename*0*=utf-8''%E6%B5; filename*1*=%8B; filename*2=".pdf"`, "测.pdf"],
      [`filename="${b("x-unknown", utf8("Grüße.pdf"))}"`, "Grüße.pdf"],
      [
        Buffer.concat([Buffer.from('filename="'), iconv.encode("Angebot für Köln.pdf", "latin1"), Buffer.from('"')]),
        "Angebot für Köln.pdf",
      ],
      [Buffer.concat([Buffer.from('filename="'), iconv.encode("見積書のお知らせ.pdf", "cp932"), Buffer.from('"')]), "見積書のお知らせ.pdf"],
    ] as const) {
      const disposition = Buffer.concat([Buffer.from("attachment; "), Buffer.from(raw as string)])
      const { attachments } = await readContent(mail({ "Content-Type": "application/pdf", "Content-Disposition": disposition }, "%PDF"))
      expect(attachments.map(({ filename }) => filename)).to.deep.equal([name])
    }
  })

  it("gain no field from their values", async () => {
    const forged = b("utf-16be", iconv.encode("x\r\nReply-To: eve@evil.test", "utf-16be"))
    const content = await readContent(mail({ From: "a@x.test", Subject: forged, "\xef\xbb\xbfFrom": "eve@evil.test" }, "x"))
    expect([content.from?.address, content.reply_to, content.subject]).to.deep.equal(["a@x.test", [], "x Reply-To: eve@evil.test"])
  })
})
