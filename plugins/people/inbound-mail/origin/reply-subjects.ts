// Subjects of automatic replies: prefixes of Exchange, Outlook and other mail programs, by language.

/** "Automatic reply" with a colon. People do not write these phrases. */
const automaticReply = [
  "automatic reply",
  "automatic response",
  "auto reply",
  "auto-reply",
  "autoreply",
  "auto response",
  "auto-response",
  "autoresponse",
  "out of office autoreply",
  "automatische antwort",
  "automatische rückantwort",
  "réponse automatique",
  "respuesta automática",
  "resposta automática",
  "resposta automàtica",
  "risposta automatica",
  "automatisch antwoord",
  "automatiskt svar",
  "automatisk svar",
  "autosvar",
  "sjálfvirkt svar",
  "automaattinen vastaus",
  "automaatvastus",
  "automātiskā atbilde",
  "automātiska atbilde",
  "automatinis atsakymas",
  "automatická odpověď",
  "automatická odpoveď",
  "odpowiedź automatyczna",
  "automatyczna odpowiedź",
  "autoodpowiedź",
  "automatikus válasz",
  "răspuns automat",
  "automatski odgovor",
  "аутоматски одговор",
  "samodejni odgovor",
  "автоматичен отговор",
  "автоматический ответ",
  "автоответ",
  "автоматична відповідь",
  "автоматты жауап",
  "αυτόματη απάντηση",
  "otomatik yanıt",
  "erantzun automatikoa",
  "balasan otomatis",
  "balasan automatik",
  "trả lời tự động",
  "thư trả lời tự động",
  "自動応答",
  "自動返信",
  "自动答复",
  "自动回复",
  "自動回覆",
  "自動回復",
  "자동 회신",
  "자동 응답",
  "ตอบกลับอัตโนมัติ",
  "การตอบกลับอัตโนมัติ",
  "स्वचालित उत्तर",
  "رد تلقائي",
  "پاسخ خودکار",
  "תשובה אוטומטית",
  "מענה אוטומטי",
]

/** Absence. People write these phrases as well, so another sign is required. */
const absence = [
  "auto",
  "out of office",
  "out of the office",
  "vacation",
  "on vacation",
  "away from my mail",
  "abwesenheitsnotiz",
  "abwesenheit",
  "abwesend",
  "absence du bureau",
  "absent du bureau",
  "message d'absence",
  "fuera de la oficina",
  "ausente",
  "fuori sede",
  "fuori ufficio",
  "fora do escritório",
  "ausência temporária",
  "afwezigheidsbericht",
  "afwezig",
  "frånvaro",
  "frånvarande",
  "fraværsmelding",
  "fravær",
  "ikke til stede",
  "poissa",
  "poissaoloilmoitus",
  "poza biurem",
  "nieobecność",
  "mimo kancelář",
  "házon kívül",
  "вне офиса",
  "отсутствует",
  "işyeri dışında",
  "ofis dışında",
  "不在",
  "不在通知",
  "不在のお知らせ",
  "外出",
  "부재중",
]

/** Leading tags of gateways, such as [EXT]. */
const tags = /^(?:\[[^[\]]{0,40}\]\s*)+/

function startingWith(words: readonly string[], end: string): RegExp {
  return new RegExp(`^(?:${words.map((one) => one.normalize("NFKC")).join("|")})\\s*${end}`, "u")
}

const isReply = startingWith(automaticReply, ":")
const isAbsence = startingWith(absence, "(?::|$)")

/** Returns `reply` for the prefix of an automatic reply, and `absence` for a subject with a possible human author. */
export function replySubject(subject: string): "reply" | "absence" | undefined {
  const plain = subject.slice(0, 300).normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim().replace(tags, "")
  if (isReply.test(plain)) return "reply"
  return isAbsence.test(plain) ? "absence" : undefined
}
