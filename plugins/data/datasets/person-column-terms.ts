// Words for mail addresses, phone numbers and names of people in column names, by language. Only data.
// Spaces, hyphens, accents and case do not count. A term may end a longer column name: "work email" ends with "email".

interface Terms {
  readonly email?: string
  readonly phone?: string
  /** The whole name of a person. Matches the whole column name. */
  readonly name?: string
  readonly firstName?: string
  readonly lastName?: string
  readonly timeZone?: string
  /** Possessives before a term: "your email". */
  readonly possessive?: string
  /** Words for "address" and "number" beside a term: "email address", "電話番号". */
  readonly address?: string
  /** Qualifiers after a term: "téléphone portable". */
  readonly qualifier?: string
  /** Marks of a form on its labels: "Email required". */
  readonly mark?: string
}

/** Terms are separated by commas. */
export const termsByLanguage: Readonly<Record<string, Terms>> = {
  english: {
    email: "email, e mail, mail, email id, mail id",
    phone:
      "phone, telephone, tel, mobile, mobile phone, cell, cell phone, smartphone, landline, handphone, hand phone, whatsapp, whats app, contact number, contact no, calling number, msisdn",
    name: "name, full name, complete name, contact name, customer name, client name, lead name",
    firstName: "first name, given name, forename, fname",
    lastName: "last name, family name, surname, lname",
    timeZone: "time zone, tz",
    possessive: "your, my",
    address: "address, addr, number, no, nr, num",
    qualifier: "work, office, business, home, personal, private, primary, main, contact, mobile, cell",
    mark: "required, optional, mandatory",
  },
  spanish: {
    email: "correo, correo electrónico, dirección electrónica",
    phone: "teléfono, telefónico, móvil, celular, teléfono móvil, teléfono celular, fono",
    name: "nombre, nombre completo, nombre y apellido, nombre y apellidos, nombres y apellidos",
    firstName: "primer nombre, nombres, nombre de pila",
    lastName: "apellido, apellidos, primer apellido",
    possessive: "su, tu, mi",
    address: "número, de",
    qualifier: "contacto, personal, laboral, fijo, móvil, celular, principal, particular, trabajo, casa",
    mark: "obligatorio, requerido, opcional",
  },
  german: {
    email: "emailadresse, mailadresse, elektronische post",
    phone:
      "telefon, telefonnummer, telefonnr, tel nr, rufnummer, handy, handynummer, handynr, mobilnummer, mobilnr, mobiltelefon, mobilfunk, mobilfunknummer, mobil, festnetz, festnetznummer",
    name: "vollständiger name, vor und nachname, vorname und nachname, vorname nachname, ansprechpartner",
    firstName: "vorname, rufname",
    lastName: "nachname, familienname, zuname",
    possessive: "ihr, ihre, deine, dein, meine",
    address: "adresse, nummer",
    qualifier: "geschäftlich, privat, dienstlich, mobil, festnetz, tagsüber, abends",
    mark: "pflichtfeld, erforderlich, optional",
  },
  japanese: {
    email: "メール, メルアド, 電子メール, メアド",
    phone: "電話, 携帯, 携帯電話, お電話, ご連絡先電話, 固定電話, スマホ",
    name: "名前, お名前, 氏名, ご氏名, フルネーム, 姓名",
    firstName: "名, ファーストネーム",
    lastName: "姓, 苗字, 名字",
    address: "アドレス, 番号",
    mark: "必須, 任意",
  },
  french: {
    email: "courriel, mél, courrier électronique, adresse électronique",
    phone: "téléphone, téléphonique, portable, téléphone portable, téléphone mobile, fixe, gsm, natel",
    name: "nom, nom complet, nom et prénom, prénom et nom, nom prénom, prénom nom",
    firstName: "prénom, prénoms",
    lastName: "nom de famille",
    possessive: "votre, vos, ton, mon",
    address: "adresse, numéro, de",
    qualifier: "professionnel, pro, personnel, perso, portable, mobile, fixe, bureau, domicile, contact, principal",
    mark: "obligatoire, requis, facultatif",
  },
  russian: {
    email: "почта, почты, электронная почта, электронной почты, электронный адрес, емейл, имейл, мейл",
    phone: "телефон, телефона, тел, мобильный, мобильный телефон, мобильного, сотовый, сотовый телефон, номер мобильного",
    name: "фио, имя, полное имя, имя и фамилия, фамилия имя, фамилия и имя, фамилия имя отчество",
    lastName: "фамилия",
    possessive: "ваш, ваша, ваше, мой, моя",
    address: "адрес, номер",
    qualifier: "рабочий, рабочая, личный, личная, домашний, мобильный, контактный, для, связи",
    mark: "обязательно, обязательное",
  },
  portuguese: {
    email: "correio eletrônico, correio electrónico, endereço eletrônico, endereço electrónico",
    phone: "telefone, celular, telemóvel, telefone celular, fone",
    name: "nome, nome completo, nome e sobrenome, nome e apelido",
    firstName: "primeiro nome",
    lastName: "sobrenome, apelido, último nome",
    possessive: "seu, sua, teu, meu, o seu, o teu",
    address: "endereço, de, do, para",
    qualifier: "contato, contacto, pessoal, comercial, profissional, fixo, celular, móvel, principal, residencial, trabalho",
    mark: "obrigatório, opcional",
  },
  italian: {
    email: "posta elettronica, indirizzo elettronico",
    phone: "telefono, telefonico, cellulare, telefonino, telefono cellulare, telefono fisso, recapito telefonico",
    name: "nome e cognome, nome cognome, cognome e nome, nominativo",
    lastName: "cognome",
    possessive: "il tuo, la tua, tuo, tua, il suo, la sua, vostro, vostra",
    address: "indirizzo, numero, di",
    qualifier: "personale, aziendale, privato, fisso, cellulare, contatto, casa, ufficio, principale",
    mark: "obbligatorio, richiesto, facoltativo",
  },
  chinese: {
    email: "邮箱, 电子邮箱, 邮件, 电子邮件, 电邮, 邮箱地址, 信箱, 電子信箱, 電子郵件, 電郵, 郵箱, 電子郵箱, 郵件地址, 邮件地址",
    phone: "电话, 手机, 手机号, 电话号, 移动电话, 联系电话, 联系方式, 電話, 手機, 手機號, 行動電話, 聯絡電話, 座机",
    name: "姓名, 您的姓名, 名字, 全名, 联系人, 聯絡人, 真实姓名",
    address: "地址, 号码, 號碼, 号, 號",
    mark: "必填, 选填, 選填",
  },
  turkish: {
    email: "eposta, e posta, elektronik posta, posta",
    phone: "telefon, telefonu, telefonunuz, cep, cep telefonu, cep telefonunuz, gsm",
    name: "ad soyad, adı soyadı, adınız soyadınız, isim, isim soyisim, ad ve soyad",
    firstName: "adı, adınız",
    lastName: "soyad, soyadı, soyadınız, soyisim",
    possessive: "sizin",
    address: "adresi, adresiniz, numarası, numaranız, numara, no",
    qualifier: "iş, ev, kişisel",
    mark: "zorunlu, gerekli",
  },
  dutch: {
    email: "emailadres, mailadres",
    phone: "telefoon, telefoonnummer, telefoonnr, mobiel, mobiel nummer, mobiele nummer, mobielnummer, gsm nummer",
    name: "naam, volledige naam, voor en achternaam",
    firstName: "voornaam",
    lastName: "achternaam, familienaam",
    possessive: "uw, je, jouw, mijn",
    address: "adres, nummer",
    qualifier: "werk, zakelijk, privé, thuis, mobiel, vast",
    mark: "verplicht, optioneel",
  },
  polish: {
    email: "poczta elektroniczna, poczty elektronicznej, poczta",
    phone: "telefon, telefonu, komórka, komórki, telefon komórkowy, telefonu komórkowego",
    name: "imię i nazwisko, imie nazwisko, nazwisko i imię",
    firstName: "imię",
    lastName: "nazwisko",
    possessive: "twój, twoje, pani, państwa",
    address: "adres, numer",
    qualifier: "służbowy, prywatny, domowy, kontaktowy, komórkowy, stacjonarny",
    mark: "wymagane, opcjonalnie",
  },
  arabic: {
    email: "البريد, البريد الإلكتروني, بريد إلكتروني, بريد الكتروني, البريد الالكتروني, الإيميل, الايميل, ايميل, بريدك الإلكتروني",
    phone: "الهاتف, هاتف, الهاتف المحمول, الجوال, جوال, الموبايل, موبايل, المحمول, تلفون, التليفون, هاتفك, رقم جوالك, واتساب",
    name: "الاسم, الاسم الكامل, اسم, اسمك, الاسم بالكامل",
    firstName: "الاسم الأول",
    lastName: "اسم العائلة, الاسم الأخير, اللقب",
  },
  korean: {
    email: "이메일, 메일, 전자우편",
    phone: "전화, 전화번호, 휴대폰, 휴대폰번호, 휴대전화, 핸드폰, 연락처",
    name: "이름, 성함, 성명",
    address: "주소, 번호",
  },
}

/** Phrases that end like a term and mean something else. */
export const otherTerms =
  "voice mail, junk mail, spam mail, direct mail, snail mail, postal mail, mobile app, head phone, micro phone, 留守番電話, ダイレクトメール, スパムメール, 垃圾邮件, голосовая почта"
