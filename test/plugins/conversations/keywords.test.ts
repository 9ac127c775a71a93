// Opt-out and opt-in messages: the keyword alone, with any decoration, but never a sentence that contains it.
import { expect } from "chai"
import fc from "fast-check"
import { keywordIn } from "../../../plugins/people/conversations/opt-out/keywords.ts"
import { optInPhrases, optOutPhrases, textMessagePhrases } from "../../../plugins/people/conversations/opt-out/phrases.ts"

const optOuts = Object.values(optOutPhrases).flat()
const optIns = Object.values(optInPhrases).flat()

describe("opt-out keywords", () => {
  it("count in each of the languages, in capitals, with punctuation, emoji and politeness", () => {
    for (const phrase of optOuts) {
      for (const text of [
        phrase,
        phrase.toUpperCase(),
        `${phrase}!!!`,
        `🛑 ${phrase} 🛑`,
        ` "${phrase}." `,
        `Please, ${phrase}!`,
        `${phrase} 🙏 thanks`,
      ])
        expect(keywordIn(text, "chat_app"), text).to.equal("opt_out")
    }
    for (const phrase of optIns) expect(keywordIn(`${phrase.toUpperCase()} ✅`, "chat_app"), phrase).to.equal("opt_in")
  })

  it("count as people type them", () => {
    for (const text of [
      ...[
        "STOP",
        "Stop.",
        "stop!!!1".slice(0, 7),
        "S.T.O.P.",
        "s t o p",
        "ＳＴＯＰ",
        "STOP\u200b",
        "STOOOP",
        "stoppp!!",
        "Please stop sending me messages",
        "I don't want to receive these messages.",
        "Ich möchte keine Nachrichten mehr erhalten!",
        "Hört auf",
        "No me manden mas mensajes",
        "je ne veux plus recevoir de messages svp",
        "Não quero mais receber mensagens",
        "Больше не присылайте, пожалуйста",
        "もう送らないでください",
        "\u200fS\u200eT\u2060O\u200bP\u202c",
        "\u2067STOP\u2069",
        "\ufeffＳ\u00adＴＯＰ",
        "“STOP”",
        "stop ✋🏽",
        "Stop, please.",
        "pls stop",
      ],
      ...["Don't text me", "DONT TEXT ME", "do not text me!", "arret", "ARRÊT", "Por favor, dame de baja", "Bitte stoppen!", "desabonner"],
      ...[
        "İPTAL",
        "iptal",
        "ıptal".replace("ı", "i"),
        "çık",
        "СТОП!!!",
        "إيقاف",
        "ايقاف",
        "עצור.",
        "रोकें।",
        "停止。",
        "退订",
        "ストップ",
        "ｽﾄｯﾌﾟ",
        "수신 거부",
      ],
    ])
      expect(keywordIn(text, "sms"), text).to.equal("opt_out")
  })

  it("do not count within a sentence, or within a word", () => {
    for (const text of [
      ...["Please stop sending pictures", "Stop sending me the wrong size", "I want to cancel my order", "stoop", "no more questions"],
      ...[
        "Schreiben Sie mir morgen nicht mehr",
        "Kein Interesse an Blau",
        "No quiero ese color",
        "Je ne veux plus de sauce",
        "hör auf den Rat",
      ],
      ...["Where does the bus stop?", "I'll stop by tomorrow", "Please don't stop", "non-stop", "unstoppable", "stopwatch", "stop or go?"],
      ...[
        "Can you stop the delivery?",
        "My stop is Alexanderplatz",
        "start stop",
        "The end",
        "Let's start tomorrow",
        "startup",
        "Stopped",
        "stops",
      ],
      ...[
        "Der Halt ist geschlossen",
        "Ich kann nicht anhalten",
        "La baja temporada",
        "No puedo parar de reír",
        "On s'arrête ici ?",
        "basta così poco",
      ],
      ...[
        "Автобус стоп линия",
        "公交车停在哪里",
        "đúng",
        "Fine.",
        "Seis",
        "acha",
        "yes",
        "no",
        "ok",
        "🛑",
        "👍",
        "",
        "   ",
        "1",
        "x".repeat(10_000),
        "stop ".repeat(200),
      ],
    ])
      expect(keywordIn(text, "chat_app"), text).to.equal(undefined)
  })

  it("of carriers count for text messages only", () => {
    for (const phrase of Object.values(textMessagePhrases).flat()) {
      expect(keywordIn(`${phrase}!`, "sms"), phrase).to.equal("opt_out")
      expect(keywordIn(`${phrase}!`, "chat_app"), phrase).to.not.equal("opt_out")
    }
  })

  it("say one thing each", () => {
    expect(optIns.filter((phrase) => keywordIn(phrase, "sms") !== "opt_in")).to.deep.equal([])
  })

  it("are found in any dress, and never with another word beside them", () => {
    const dress = fc.stringMatching(/^[!?.,;:"()*~ 🛑🙏✋]{0,6}$/u)
    // Invisible characters: marks of direction, of zero width, of possible word breaks.
    const unseen = fc.constantFrom(
      "",
      ...["\u00ad", "\u034f", "\u061c", "\u200b", "\u200d", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\ufeff"],
    )
    fc.assert(
      fc.property(fc.constantFrom(...optOuts), fc.infiniteStream(unseen), (phrase, marks) => {
        const text = [...phrase].map((letter) => letter + (marks.next().value ?? "")).join("")
        expect(keywordIn(text, "chat_app"), JSON.stringify(text)).to.equal("opt_out")
      }),
    )
    const word = fc.constantFrom("bus", "tomorrow", "Berlin", "warum", "mañana", "42", "улица")
    fc.assert(
      fc.property(fc.constantFrom(...optOuts), dress, dress, word, (phrase, before, after, other) => {
        expect(keywordIn(before + phrase + after, "chat_app")).to.equal("opt_out")
        expect(keywordIn(`${phrase}${after} ${other}`, "chat_app")).to.not.equal("opt_out")
        expect(keywordIn(`${other} ${before}${phrase}`, "chat_app")).to.not.equal("opt_out")
      }),
    )
  })
})
