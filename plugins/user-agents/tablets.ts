// Tablets, regardless of other tokens of the agent: many send `Mobile` like a phone. Known by saying so, by their makers' series, and
// by the ways in which makers without a name number theirs.

/** What is said outright. */
const saidSo =
  /(?<![a-z])tablet(?![a-z]| ?PC(?!\w))|\/apad\b|\bdv\(iPd|PlayBook|\bKindle\b(?! Fire Phone)|\bSilk\/(?!.*Mobile)|hpwOS|TouchPad|Puffin\/[\d.]+(?:AT|IT)\b|\bKobo\b|PocketBook\/|\bNook|\bBOOX/i

/** Series of the large makers. */
const series = [
  // Amazon, Google, Nvidia, HTC, Dell, HP.
  /\bKF[A-Z]{2,6}\b|\bNexus ?(?:7|9|10)\b|\bPixel (?:C\b|Tablet)|\bXoom\b|Tegra ?Note|SHIELD Tablet|\bHTC[ _](?:A10\d|Flyer|Jetstream)|\bVenue ?(?:7|8|10)|\bStreak (?:7|10)|\bSlate ?(?:7|8|10|17|21)/i,
  // Samsung.
  /\bSM-[TXP]\d{3}|\bGT-P\d{4}|\bGT-N[58]\d{3}|\bN(?:5100|5110|8000|8010)\b|\bSCH-I(?:800|905|915|925)|\bSGH-(?:I467|I497|I957|I987|T849|T859|T869|T779)|\bSHW-M(?:180|380|480|500)|\bSHV-E(?:140|150|230)|\bSC-01[CDE]\b/,
  // Huawei and Honor: -W is a model without telephony; the others by their code names.
  /\b[A-Za-z]{3,4}\d?-W\d\d|MediaPad|MatePad|\b(?:AGS|AGR|AGM|BAH|BTV|BG2|BZT|BZA|BZK|CMR|CPN|DBY|JDN|JMS|KOB|Kobe|MON|MRX|MRR|PLE|SCM|SCMR|SHT|SSH|VRD|WGR|DBR|BTK)[2-6]?-(?:L|AL|TL|N|U)\d\d|\bHUAWEI ?(?:M2|M3|M5|M6|T1|T3|T5|T8)[ -]|\bT1[ _-](?:701|821|823|A21)/,
  // Lenovo, Acer, Asus, LG, Sony.
  /\bTB-?[0-9X]|Lenovo ?(?:TAB|YT|YOGA|IdeaTab|B[68]\d{3}|TB)|IdeaTab|IdeaPadA|\bYT\d?-[X\d]|\bYOGA Tab/i,
  /Iconia|\bA[13]-[A-Z]?\d{2,3}\b|\bB[13]-[A-Z]?\d{2,3}\b|Transformer|EeePad|\bTF\d{3}[A-Z]*\b|\bME(?:17|18|30|37|57|58)\d\w*\b|\bASUS_?P(?:00|01|02)\w\b|\bK01[0-9A-Z]\b|\bP(?:00|01|02)[0-9A-Z]\b(?= Build)|\bZenPad/,
  /\bLG-V(?:[459]|[KTPH])\w+|\bLG-V700|\bLG-VK\d{3}|\bLG-UK\d{3}|\bLG-P530|\bLM-T\d{3}|\bSGPT?\d{2,3}\b|\bSony Tablet|\bXperia (?:Z\d? ?)?Tablet|\bSO-(?:03E|05F|05G)\b|\bSOT\d\d\b/,
  // Xiaomi, Oppo, OnePlus, Realme, Vivo, TCL and Alcatel, Nokia, Tecno.
  /\b(?:Mi|Redmi|Xiaomi|POCO) ?Pad|\bMIPAD|\b(?:21051182[CG]|22081283[CG]|23043RP34[CGI]|2\d{4}RP[A-Z0-9]{3,5}|2405CRPBDG|2406ERN9CC)\b|\bOPD\d{4}|\bRMP\d{4}|\bPA2\d{3}\b|^(?:80[789]\d|9[012]\d\d)[A-Z]\d?(?![A-Za-z0-9])|\bNokia T\d\d\b|\bTECNO ?(?:P[79]0\d)|DroiPad/,
]

/** A name that holds Tab or Pad, with or without a number. */
const named =
  /(?:TAB|Tab|PAD|Pad)(?:[-_ ]?(?:\d|Pro|Plus|Ultra|Mini|Lite|HD|Kids?|Go|Air|Max|LTE|WiFi|Wi-Fi|[A-Z]\d)|_|$|[ ](?!fone))|\b(?:kid|lif)e?s?tab|\btab[ _-]?\d|\bpad[ _-]?\d/

const numbered = [
  // A letter or two and the diagonal in tenths of an inch (BQ-7081, TT7025MG, CRONY-8015), or with a nought before it (LC0901D).
  /^BQ[a-z]*-?(?:[789]|1[01])\d{2,3}/i,
  /(?<![A-Za-z0-9])(?:[A-Z]{2}(?:[789]\d{3}|1[0-2]\d{2})[A-Z]{2}|[A-Z]{2,3}(?:07|08|09|10)\d\d[A-Z]\d{0,2})(?![A-Za-z0-9])|_C(?:07|08|10)\d{4}/,
  // "Mobile internet device", and the diagonal beside the kind of network.
  /\bMID[-_ ]?\d|[-_ ](?:7|8|9|10)[-_ ]?(?:3G|4G|LTE)\b|3G.*QUAD/i,
  // Sold in Europe under a letter and a number.
  /^(?:T|M|P|K|N|iPlay_?)\d{2,3}(?:HD|Pro|Plus|S|T|Air|SE|Max)?[-_](?:EEA|ROW|US)|^iPlay_?\d/,
  // Smaller makers' own.
  /\bArchos ?(?:[789]\d|1[01]\d|Gen)|\bTM-(?:[79]\d{3}|8\d{3}|MID)|\bPM[PT]\d{4}|\bNEXTBOOK|\bNXM\d|\bRCT\d{4}|\bRMD-\d{3,4}|\bBRW-|LIFETAB|ViewPad|\bONA\d{2}TB|\bTBLT\d|\b100\d{6}$|\bSURFpad/i,
  /\b(?:Darwin|FAUST|KANT|VOLTA)\d|iBall[ _]Slide|\bTZ\d{3}\b|\bOptima \d|\bCITI[ _]\d{4}|\bGinzzu GT-[789]|\bTOREX\d|Readboy|\bNUMY|\biPA2\d/i,
]

export function isTablet(agent: string, model: string): boolean {
  if (/iPhone|iPod|Windows Phone|Windows NT|CrOS|Macintosh/.test(agent)) return false
  if (saidSo.test(agent) || series.some((name) => name.test(model || agent))) return true
  return model !== "" && !/\bPadfone/i.test(model) && (named.test(model) || numbered.some((name) => name.test(model)))
}
