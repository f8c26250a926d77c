"""The words of a handful of languages by which taint is judged. Data: each list or pattern has its use beside its name."""

from __future__ import annotations

# --- what an entry would change: patterns over folded text; line ends only lay them out ---

_PAYEE = r"""
    \biban\b|\bbic\b|\bswift\b|\b[a-z]{2}\d{2}(?:\s?[a-z0-9]{4}){3,7}|\bbank(?:ing| details?| account|verbindung|konto)|
    \baccount (?:no|number|holder)|\b(?:invoices?|payments?|salar(?:y|ies)|payroll|refunds?|donations?|fees?|deposits?)\b[^.]{0,40}
    \b(?:to|into|via|through|account|paid)\b|\b(?:wire|bank|money) transfers?\b|\bwire\b[^.]{0,20}\b(?:money|funds?|to)\b|\bpay(?:able|ments?)? (?:to|into|via)\b|\bpaypal\b|
    \bwallet\b|\b(?:btc|bitcoin|ethereum|eth|usdt|monero|crypto)\b|\b0x[0-9a-f]{12,}|\bbc1[a-z0-9]{10,}|\bvenmo\b|\bpayee\b|
    \b(?:rechnung|uberweis|zahlung|konto(?:nummer|nr)?\b|bezahl|kontoverbindung|gehalt)|\b(?:facture|virement|paiement|compte bancaire|rib\b|payer)|
    \b(?:factura|transferencia|cuenta bancaria|pago|pagar)|\b(?:fattura|fatture|bonifico|conto (?:corrente|bancario)|pagament)|
    \b(?:fatura|pagamento|conta bancaria|pix\b)|\b(?:facturen|betaling|rekeningnummer|overmaken|betaald)|\b(?:faktur|przelew|konto bankowe)|
    \b(?:счет|оплат|перевод|реквизит)|支付|付款|汇款|账户|账号|银行|振込|口座|請求書|支払
"""
_ADDRESS = r"""
    (?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}|\b(?:contact|reach|call|phone|write to|mail to|e-?mail|ship|deliver|send (?:\w+ ){0,4}to|report (?:\w+ ){0,3}to|hotline|helpdesk|support line|
    telephone|fax)\b[^.]{0,60}(?:\+?\d[\d ()/-]{5,}|\bat\b|\bto\b|\bis now\b|:)|\b(?:postal|shipping|delivery|billing|mailing|office|return|new) address\b|
    \b(?:lieferadresse|anschrift|rechnungsadresse|telefonnummer|kontakt(?:adresse)?)\b|\b(?:nouvelle adresse|adresse de (?:livraison|facturation)|numero de telephone)|
    \b(?:direccion de (?:envio|facturacion)|nueva direccion)|\b(?:indirizzo di (?:spedizione|fatturazione)|nuovo indirizzo)|\b(?:afleveradres|nieuw adres)|
    新地址|收货地址|电话|住所|電話番号
"""
_PLACE = r"(?:host|server|registry|mirror|proxy|gateway|endpoint|index|repository|repo|remote|domain|dns|resolver|webhook|callback|bucket|api|backup|vpn|relay|update|download|deploy\w*|staging|production)"
_AT = r"(?:https?://\S+|(?<!\S)[\w-]+(?:\.[\w-]+)+(?::\d+)?(?:/\S*)?|\b[a-z]+-\d+\b|\b\d{1,3}(?:\.\d{1,3}){3}\b)"
_HOST = rf"""
    \b{_PLACE}s?\b[^.]{{0,50}}{_AT}|{_AT}[^.]{{0,50}}\b{_PLACE}s?\b|
    \b(?:use|uses|using|deploy\w*|push\w*|upload\w*|connect\w*|point\w*|route\w*|send\w*|post\w*|fetch\w*|pull\w*|install\w*|download\w*|sync\w*|clone\w*|log ?in|go(?:es)?|migrated?|moved?)\b[^.]{{0,60}}{_AT}|
    \b(?:use|switch(?:ed)? to|deploy\w* (?:to|via|through|from)|point\w* (?:at|to)|route\w* (?:to|through))\b[^.]{{0,40}}\b(?:host|server|registry|mirror|proxy|gateway|endpoint|domain|dns|relay)\b|
    \b(?:verwende|nutze|benutze|lade|hochladen|spiegel|server|rechner)\w*\b[^.]{{0,60}}{_AT}|\b(?:utilise|utiliser|utilisez|serveur|depot|miroir|televers)\w*\b[^.]{{0,60}}{_AT}|
    \b(?:usa|usar|utiliza|servidor|espejo|registro|subir)\w*\b[^.]{{0,60}}{_AT}|\b(?:usare|usate|specchio|caricare)\b[^.]{{0,60}}{_AT}|\b(?:gebruik|spiegelserver)\w*\b[^.]{{0,60}}{_AT}
"""
_CREDENTIAL = r"""
    \b(?:passwords?|passphrases?|passcodes?|pins?|api[ -]?keys?|access[ -]?tokens?|tokens?|credentials?|secrets?|private keys?|ssh keys?|signing keys?|vault|keychain|
    2fa|otp|one-time codes?|recovery codes?|seed phrase|login)\b|\.env\b|\b(?:passwort|kennwort|zugangsdaten|schlussel(?:bund)?|geheimnis)|
    \b(?:mot de passe|identifiants|cle (?:privee|api))|\b(?:contrasena|credenciales|clave (?:privada|de acceso))|\b(?:parola d'ordine|credenziali)|
    \b(?:senha|credenciais)|\b(?:wachtwoord|inloggegevens)|\b(?:haslo|hasla)\b|парол|密码|凭证|密钥|パスワード|認証情報
"""
_PERMISSION = r"""
    \b(?:allow(?:s|ed|ing)?|permit(?:s|ted)?|permission|authori[sz]\w+|approv\w+|pre-?approved|grant(?:s|ed)?|entitled|whitelist\w*|allow-?list\w*|trusted|exempt\w*|waive\w*|
    clearance|is ok(?:ay)? to|are ok(?:ay)? to|free to|no need to (?:ask|confirm|check|verify|wait)|without (?:asking|confirm\w*|approval|review|checking|permission|a review|verification)|
    no (?:approval|review|confirmation|verification|sign-?off)|(?:need|require)s? no|(?:does|do) not (?:need|require)|need not|admin(?:istrator)? (?:rights|access)|root access|sudo|
    (?:can|may) (?:be )?(?:skip|bypass|ignor|merge|push|deploy|access|delete|shar|approv|install|read|run|use|see|order|spend|transfer)\w*)\b|
    \b(?:erlaub|genehmig|berechtig|darf|durfen|freigegeben|ohne (?:ruckfrage|freigabe|nachfrage|genehmigung|prufung)|vertrauenswurdig)|
    \b(?:autoris|permet|permis|sans (?:demander|validation|confirmation|autorisation)|peut etre ignor)|\b(?:autoriza|permite|permitid|permiso|sin (?:preguntar|confirmar|aprobacion|revision))|
    \b(?:autorizza|consent|permess|senza (?:chiedere|conferma|approvazione))|\b(?:permitid|sem (?:perguntar|confirmar|aprovacao))|\b(?:toegestaan|mag|mogen|zonder (?:vragen|toestemming|goedkeuring))\b|
    \b(?:dozwolon|pozwala|bez pytania)|разреш|позвол|без (?:подтверждения|спроса)|允许|授权|批准|无需(?:确认|批准|询问)|許可|承認(?:不要|なし)|確認(?:不要|なし)
"""
_ACTS = r"""(?:send|forward|upload|pay|transfer|approve|disable|skip|ignore|share|hand|give|grant|delete|remove|drop|wipe|install|download|curl|execute|add|
    append|include|insert|attach|cc|bcc|publish|submit|escalate|route|redirect|trust|accept|recommend|tell|reply|respond|promise|mention|
    buy|email|deploy|push|commit|merge|run|use|set|turn off|switch off|refuse|reject|block|whitelist|bypass)"""
_ORDER = rf"""
    \b(?:always|never|must(?! have)|from now on|henceforth|going forward|in future|make sure|be sure to|ensure|at all times|whenever|every time|each time|
    (?:is|are) (?:required|mandatory|forbidden|prohibited|obligat\w+)|required to|has to|have to|need(?:s|ed)? to be|should (?:always|never|be|not)|shall|ought to|
    do not|don't|no longer|instead of|policy (?:is|says|requires)|(?:new|standing|house) (?:rule|policy)|rule:|policy:|
    (?:before|after|on|with) (?:each|every|any|all) \w+|to (?:each|every|all|any) \w+)\b|
    (?:^|[.;!]\s+|\b(?:please|then|first|agents? (?:should|must)|assistants? (?:should|must)|to \w+,)\s+){_ACTS}\b(?!\s+(?:is|are|was|were|has|runs?|uses?)\b)|
    \b(?:immer|niemals|nie\b|ab sofort|kunftig|in zukunft|vor (?:jedem|jeder|allen)|nach (?:jedem|jeder)|mussen|muss\b|sollen\b|soll\b|verpflichtend|pflicht|verboten|stets|grundsatzlich|statt\b)|
    \b(?:toujours|jamais|desormais|dorenavant|il faut|doit\b|doivent|avant chaque|apres chaque|obligatoire|interdit|a partir de maintenant)|
    \b(?:siempre|nunca|debe\b|deben\b|hay que|a partir de ahora|antes de cada|despues de cada|obligatori|prohibid|en adelante)|
    \b(?:sempre|mai\b|deve\b|devono|d'ora in poi|prima di ogni|dopo ogni|bisogna|vietat)|\b(?:deve[mr]?\b|daqui em diante|antes de cada|proibid)|
    \b(?:altijd|nooit|moet(?:en)?\b|voortaan|voor elke|verplicht|verboden)|\b(?:zawsze|nigdy|musi\b|nalezy|od teraz)|
    всегда|никогда|должн|обязательно|отныне|必须|总是|永远|务必|不要|一律|以后|今后|必ず|常に|今後|しないで|してください|禁止
"""
CHANGING = {
    "order": _ORDER,
    "payee": _PAYEE,
    "address": _ADDRESS,
    "host": _HOST,
    "credential": _CREDENTIAL,
    "permission": _PERMISSION,
}
NAMED = {
    "order": r"\b(?:rules?|steps?|instructions?|procedures?|polic(?:y|ies)|conventions?|guides?|guidelines?|how to|checklist|workflow|regeln?|anleitung|ablauf|schritte|regles?|etapes|"
    r"consignes|reglas|pasos|regole|passi|regels|stappen)\b|规则|步骤|手順|ルール|правила",
    "payee": r"\b(?:bank|iban|account|payments?|paying|invoices?|billing|wallet|konto|zahlung|rechnung|compte|paiement|factura|cuenta|pago|conto|fattura|rekening)\w*|账户|付款|口座|счет",
    "address": r"\b(?:address|adress|contacts?|e-?mails?|phone|telephone|number|hotline|anschrift|kontakt|telefon|adresse|courriel|direccion|correo|indirizzo|adres)\w*|地址|电话|連絡先|住所|адрес|контакт",
    "host": r"\b(?:hosts?|servers?|url|link|endpoint|registry|mirror|domain|deploy\w*|staging|production|api|port|proxy|serveur|servidor|repository|repo|website|site)\b|网址|服务器|サーバ|сервер",
    "credential": r"\b(?:password|credential|token|key|secret|vault|login|passwort|zugang|mot de passe|identifiant|contrasena|clave|wachtwoord)\w*|密码|パスワード|пароль",
    "permission": r"\b(?:permission|allowed|access|rights|approv\w+|policy|may|berechtigung|erlaub\w+|darf|autoris\w+|permis\w*|derechos)\b|权限|許可|доступ",
}

# --- what a user asks to keep ---

KEEP = (
    r"\b(?:remember|memori[sz]e|save|store|keep|note|jot|write (?:this|that|it|them|down)|record|put (?:\w+ ){0,6}(?:in|into) (?:your |the )?(?:memory|notes)|"
    r"add (?:\w+ ){0,6}to (?:your |the |my )?(?:memory|notes)|make a note|take a note|take down|learn)\b|"
    r"\b(?:merk(?:e|en)?|notier(?:e|en)?|speicher(?:e|n)?|behalt(?:e|en)?|halte? .{0,40}\bfest|schreib(?:e)? .{0,40}\bauf)\b|"
    r"\b(?:retiens|retenez|memorise[rz]?|enregistre[rz]?|note[rz]?|souviens|garde[rz]?|sauvegarde[rz]?)\b|"
    r"\b(?:recuerda|guarda|anota|apunta|memoriza|acuerdate)\w*\b|\b(?:ricorda|ricordati|salva|annota|memorizza|segna|segnati|tieni a mente)\b|"
    r"\b(?:lembra|lembre|salve|guarde|anote|memorize)\w*\b|\b(?:onthoud|bewaar|noteer|sla .{0,40}\bop)\b|\b(?:zapamietaj|zapisz|zanotuj)\b|"
    r"запомни|сохрани|запиши|记住|记下|保存|记录|覚え|保存して|メモ"
)
"""Asking to keep something."""
NOT = r"\b(?:do not|don't|dont|never|no need to|not to|without|nicht|kein\w*|ne|pas|no|non|nao|niet|nie)\W+(?:\w+\W+){0,3}$"
"""What takes such a request back, just before it."""
ASKING = r"\b(?:do|did|can|could) you (?:still )?(?:remember|recall)\b|\bi (?:don't |can't )?remember\b"
"""Asking whether something is remembered."""
