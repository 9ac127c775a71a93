// Opt-out and opt-in phrases by language. A phrase is the whole message. Accents are optional.
import { readFileSync } from "node:fs"

/** Languages in which accents distinguish words. */
export const tonalLanguages: ReadonlySet<string> = new Set(["vi"])

const words: Readonly<Record<string, readonly string[]>> = {
  en: [
    ...["stop", "stopp", "stopall", "stop all", "stop it", "stop this", "stop now", "full stop", "unsubscribe", "unsub", "unsubscribe me"],
    ...["unsubscribe all", "optout", "opt out", "opt me out", "i want to opt out", "revoke", "revoke consent", "i revoke my consent"],
    ...["stop texting", "stop texting me", "stop messaging", "stop messaging me", "stop writing me", "stop writing to me"],
    ...["stop sending messages", "stop sending me messages", "stop sending texts", "stop contacting me", "stop spamming me", "stop spam"],
    ...["stop promotions", "stop marketing", "stop messages", "stop texts", "no more messages", "no more texts", "remove me"],
    ...["remove me from your list", "remove me from this list", "take me off your list", "take me off this list", "remove my number"],
    ...["do not contact me", "dont contact me", "do not text me", "dont text me", "do not message me", "dont message me", "leave me alone"],
    ...["do not contact me again", "dont text me again", "never text me again", "never contact me again"],
  ],
  es: [
    ...["baja", "darme de baja", "dame de baja", "quiero darme de baja", "alto", "parar", "detener", "desuscribir", "desuscribirme"],
    ...[
      "cancelar suscripción",
      "no más mensajes",
      "no me escriban",
      "no me escribas más",
      "no me contacten",
      "dejen de escribirme",
      "basta",
    ],
  ],
  fr: [
    ...["arrêt", "arrêter", "arrêtez", "stop sms", "désabonner", "désabonnement", "désabonnez moi", "désinscription", "désinscrire"],
    ...["me désabonner", "ne plus recevoir", "plus de messages", "arrêtez de m'écrire", "ne m'écrivez plus", "ne me contactez plus"],
  ],
  de: [
    ...[
      "halt",
      "aufhören",
      "abmelden",
      "abbestellen",
      "austragen",
      "stoppen",
      "keine nachrichten mehr",
      "keine werbung mehr",
      "keine werbung",
    ],
    ...["nicht mehr schreiben", "schreiben sie mir nicht mehr", "hören sie auf", "lassen sie mich in ruhe", "ich widerrufe", "widerruf"],
  ],
  pt: [
    ...["pare", "parar", "sair", "descadastrar", "descadastre me", "desinscrever", "cancelar inscrição", "remover", "não me escreva mais"],
    ...["chega", "não quero mais mensagens", "não quero receber mensagens", "não me mande mais mensagens", "não enviar mais"],
  ],
  it: [
    ...["ferma", "fermare", "fermatevi", "basta", "disiscrivi", "disiscrivimi", "disiscrizione", "cancellami", "cancella iscrizione"],
    ...["non scrivetemi più", "non contattatemi più", "niente più messaggi"],
  ],
  nl: ["afmelden", "uitschrijven", "meld me af", "schrijf me uit", "geen berichten meer", "stuur me niets meer", "ophouden"],
  sv: ["avregistrera", "avsluta prenumeration", "sluta", "avanmäl", "inga fler meddelanden"],
  da: ["afmeld", "afmeld mig", "frameld", "ikke flere beskeder"],
  no: ["avmeld", "avmeld meg", "slutt", "meld meg av", "ingen flere meldinger"],
  fi: ["lopeta", "poista", "peruuta tilaus", "ei enää viestejä"],
  pl: ["wypisz", "wypisz mnie", "rezygnuję", "zrezygnuj", "przestań", "przestańcie", "koniec wiadomości", "nie piszcie do mnie"],
  cs: ["odhlásit", "odhlásit odběr", "přestaňte", "nepište mi", "už mi nepište"],
  sk: ["odhlásiť", "prestaňte", "nepíšte mi"],
  hu: ["leiratkozás", "leiratkozom", "elég", "állj", "ne írjanak többet"],
  ro: ["dezabonare", "dezabonați-mă", "opriți", "renunț", "nu mai trimiteți"],
  hr: ["odjava", "odjavi me", "prestanite"],
  el: ["στοπ", "σταμάτα", "σταματήστε", "διακοπή", "διαγραφή", "κατάργηση εγγραφής"],
  tr: ["dur", "durdur", "ret", "iptal", "çık", "abonelikten çık", "mesaj istemiyorum", "artık yazmayın"],
  ru: ["стоп", "отписаться", "отписка", "отпишите меня", "хватит", "прекратите", "не пишите мне", "больше не пишите"],
  uk: ["стоп", "відписатися", "відписатись", "відпишіть мене", "досить", "припиніть", "не пишіть мені"],
  bg: ["стоп", "отписване", "отпиши ме", "спрете"],
  sr: ["стоп", "одјава", "престаните"],
  ar: ["توقف", "توقفوا", "قف", "إيقاف", "أوقف", "وقف", "إلغاء الاشتراك", "الغاء الاشتراك", "لا ترسلوا", "لا تراسلني"],
  fa: ["توقف", "لغو", "لغو اشتراک", "بس کنید"],
  he: ["עצור", "הסר", "הסירו אותי", "הסר אותי", "הפסק", "הפסיקו", "תפסיקו", "ביטול הרשמה"],
  hi: ["स्टॉप", "रोकें", "रोको", "बंद करें", "बंद करो", "बंद", "सदस्यता समाप्त करें", "मैसेज मत भेजो"],
  bn: ["স্টপ", "বন্ধ", "বন্ধ করুন", "থামুন"],
  ta: ["நிறுத்து", "நிறுத்தவும்"],
  ur: ["بند کرو", "بند کریں", "روکو"],
  zh: ["停止", "停", "退订", "退訂", "取消订阅", "取消訂閱", "td", "回复td", "不要再发", "不要再發", "拒收"],
  ja: ["停止", "配信停止", "配信を停止", "解除", "登録解除", "退会", "ストップ", "やめて", "やめてください"],
  ko: ["중지", "중단", "그만", "스톱", "정지", "수신거부", "수신 거부", "구독 취소"],
  id: ["berhenti", "henti", "berhenti berlangganan", "jangan kirim lagi", "setop"],
  ms: ["henti", "berhenti", "nyahlanggan"],
  tl: ["itigil", "hinto", "tama na"],
  vi: ["dừng", "dừng lại", "ngừng", "hủy đăng ký", "huỷ đăng ký", "từ chối"],
  th: ["หยุด", "เลิกรับ", "ยกเลิกการสมัคร", "หยุดส่ง"],
  sw: ["simama", "sitisha", "jiondoe"],
}

/** Opt-out sentences. They mention messages or writing. A request about other content, such as pictures, does not count. */
const sentences = JSON.parse(readFileSync(new URL("./sentences.json", import.meta.url), "utf8")) as Record<string, readonly string[]>

export const optOutPhrases: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(words).map(([language, phrases]) => [language, [...phrases, ...(sentences[language] ?? [])]]),
)

/** Carriers treat these words as an opt-out of text messages. In a chat they may answer a question. */
export const textMessagePhrases: Readonly<Record<string, readonly string[]>> = {
  en: ["cancel", "end", "quit"],
  es: ["cancelar", "fin"],
  fr: ["annuler", "fin"],
  de: ["ende", "abbrechen"],
  pt: ["cancelar", "fim"],
  it: ["annulla"],
  nl: ["annuleren", "einde"],
  pl: ["anuluj", "koniec"],
  ru: ["отмена"],
  th: ["ยกเลิก"],
  zh: ["取消"],
  ko: ["취소"],
}

export const optInPhrases: Readonly<Record<string, readonly string[]>> = {
  en: ["start", "unstop", "optin", "opt in", "opt me in", "subscribe", "resubscribe", "subscribe me", "start messages", "resume"],
  es: ["alta", "darme de alta", "comenzar", "iniciar", "suscribir", "suscribirme", "reanudar"],
  fr: ["démarrer", "reprendre", "m'abonner", "abonnez moi", "réabonner"],
  de: ["anmelden", "starten", "wieder anmelden", "abonnieren", "fortsetzen"],
  pt: ["iniciar", "começar", "inscrever", "voltar a receber", "retomar"],
  it: ["inizia", "avvia", "iscrivimi", "riprendi"],
  nl: ["aanmelden", "inschrijven", "hervatten"],
  sv: ["starta", "anmäl", "prenumerera"],
  da: ["tilmeld"],
  no: ["påmeld", "abonner"],
  fi: ["aloita", "tilaa"],
  pl: ["zapisz", "zapisz mnie", "wznów"],
  cs: ["přihlásit", "obnovit"],
  ro: ["abonare", "reia"],
  hu: ["feliratkozás", "feliratkozom"],
  el: ["έναρξη", "εγγραφή"],
  tr: ["başla", "başlat", "abone ol"],
  ru: ["старт", "подписаться", "начать", "возобновить"],
  uk: ["старт", "підписатися", "почати"],
  ar: ["ابدأ", "اشتراك", "استئناف"],
  he: ["התחל", "הרשמה", "הצטרף"],
  hi: ["स्टार्ट", "शुरू करें", "शुरू करो"],
  zh: ["开始", "開始", "订阅", "訂閱"],
  ja: ["開始", "再開", "スタート", "登録"],
  ko: ["시작", "재개", "구독", "수신동의"],
  id: ["mulai", "langganan"],
  vi: ["bắt đầu", "đăng ký"],
  th: ["เริ่ม", "สมัคร"],
}

/** Optional words before or after a phrase, without effect on its meaning. */
export const fillers: readonly string[] = [
  ...["please", "pls", "plz", "thanks", "thank you", "thx", "now", "immediately", "ok", "okay", "hi", "hello", "hey", "sir", "just"],
  ...["por favor", "porfa", "gracias", "ya", "ahora", "hola", "obrigado", "obrigada", "agora", "olá"],
  ...["s'il vous plaît", "s'il te plaît", "svp", "stp", "merci", "maintenant", "bonjour", "bitte", "danke", "sofort", "jetzt", "hallo"],
  ...[
    "per favore",
    "grazie",
    "subito",
    "alsjeblieft",
    "alstublieft",
    "aub",
    "bedankt",
    "tack",
    "takk",
    "tak",
    "kiitos",
    "proszę",
    "dziękuję",
  ],
  ...["prosím", "lütfen", "teşekkürler", "пожалуйста", "спасибо", "будь ласка", "дякую", "من فضلك", "لو سمحت", "شكرا", "בבקשה", "תודה"],
  ...["कृपया", "धन्यवाद", "请", "請", "谢谢", "謝謝", "お願いします", "tolong", "terima kasih", "xin", "cảm ơn"],
]
