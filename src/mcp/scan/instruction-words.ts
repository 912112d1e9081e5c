/** Words of one language, by their role in an instruction; a shape needs one of each. */
export interface Words {
  readonly gate: RegExp
  readonly ignore: RegExp
  readonly rules: RegExp
  readonly keep: RegExp
  /** The model, or whoever configured it. */
  readonly you: RegExp
  readonly nobody: RegExp
  readonly tell: RegExp
  readonly user: RegExp
  readonly secret: RegExp
  readonly use: RegExp
  readonly thisTool: RegExp
  readonly first: RegExp
  readonly send: RegExp
  readonly talk: RegExp
  /** What was said before. */
  readonly earlier: RegExp
  readonly keys: RegExp
}

const GERMAN: Words = {
  gate: /\b(?:der|die|das|den|dem|nicht|nichts|und|alle|dieses|diesen|du|im|bevor|zuerst)\b/,
  ignore:
    /\b(?:ignorier\w{0,3}|vergiss|vergesst|vergessen sie|missacht\w{1,3}|verwirf|nicht (?:mehr )?(?:beachten|befolgen|folgen|gelten)|(?:beachte|befolge|folge)\w?\b.{0,60}\bnicht|gelten nicht mehr|gilt (?:hier )?nicht|gelten (?:hier )?nicht|außer acht)\b/,
  rules:
    /\b(?:anweisung(?:en)?|instruktion(?:en)?|regeln?|vorgaben?|befehle?n?|richtlinien?|systemprompt|anordnung(?:en)?|beschränkung(?:en)?|vorgegeben|vorschriften?|betreiber)\b/,
  keep: /\b(?:nicht|nichts|nie|niemals|ohne|keine[nrm]?|niemandem)\b/,
  you: /\b(?:dir|dich|deine[nrms]?|du|entwickler\w{0,2}|betreiber\w{0,2})\b/,
  nobody: /\b(?:niemand(?:em|en)?|keiner|keinem)\b/,
  tell: /\b(?:sag\w{0,2}|erzähl\w{0,2}|mitteil\w{0,2}|teile|informier\w{0,3}|erwähn\w{0,3}|erfahren|erfährt|wissen|weiß|merk\w{1,2}|bemerk\w{0,3}|verrat\w{0,2}|verrät|berichte\w?|mitbekomm\w{1,2}|ahn\w{1,2}|mitkrieg\w{1,2}|zeig\w{0,2} (?:es|das|dies))\b/,
  user: /\b(?:benutzer\w{0,3}|nutzer\w{0,3}|anwender\w{0,3}|kunden?|menschen?)\b/,
  secret:
    /\b(?:geheim|heimlich|für dich|für sich|verschweig\w{0,2}|verheimlich\w{0,2}|verborgen|unbemerkt|hinter dem rücken)\b/,
  use: /\b(?:ruf\w{0,2}|nutz\w{0,2}|verwende\w{0,2}|benutz\w{0,2}|aufrufen|aufgerufen|starte\w?|genutzt|benutzt)\b/,
  thisTool: /\b(?:diese[srnm]? (?:werkzeug|tool|funktion))\b/,
  first:
    /\b(?:immer|stets|egal|zuerst|zunächst|als erstes|vor (?:allen|allem|jede[mr])|bevor|ausschließlich)\b/,
  send: /\b(?:schick\w{0,2}|sende\w{0,2}|übermittl\w{0,2}|übergib|gib|füge|kopier\w{0,2}|leite|häng\w{0,2}|lies|lese|öffne|lade|trag\w{0,2})\b/,
  talk: /\b(?:gesprächs?verlauf\w{0,2}|unterhaltung|chatverlauf\w{0,2}|systemprompt|was (?:bisher|bis jetzt|zuvor) (?:gesagt|gesprochen|geschrieben)|(?:gesamte[nrms]?|ganze[nrms]?|alle|bisherige[nrs]?|letzten) (?:\w+ )?(?:gespräch\w{0,2}|chat|verlauf|nachrichten|konversation))\b/,
  earlier:
    /\b(?:bisherige[nrs]?|vorherige[nrs]?|frühere[nrs]?|letzten?) (?:nachrichten|eingaben|gespräche?|unterhaltung|fragen)\b/,
  keys: /\b(?:passw(?:ort|örter)|kennw(?:ort|örter)|zugangsdaten|privaten? schlüssel|geheimnisse|zugriffstoken)\b/,
}

const FRENCH: Words = {
  gate: /\b(?:le|la|les|l'\w|de|du|des|ne|et|cet|cette|pas|dans|tout(?:e|es)?)\b/,
  ignore:
    /(?:\bignore[zr]?\b|\boublie[zr]?\b|\bnéglige[zr]?\b|\bne (?:suis|suivez|tiens|tenez|respecte[zr]?)\b|fai(?:s|tes) abstraction|ne s'appliquent (?:plus|pas)|ne valent (?:plus|pas)|\bécarte[zr]?\b)/,
  rules: /\b(?:instructions?|consignes?|directives?|règles|ordres|invite système|restrictions)\b/,
  keep: /(?:\bne\b|\bn'|\brien\b|\bjamais\b|\bsans\b|\baucune?\b)/,
  you: /\b(?:tu|te|tes|vous|vos|t'\w+|développeur|opérateur)\b/,
  nobody: /\b(?:personne ne|à personne|nul ne)\b/,
  tell: /\b(?:dis|dites|dire|informe[zr]?|préviens|prévenez|prévenir|mentionne[zr]?|parle[zr]?|révèle[zr]?|savoir|sache|apprenne|apprendre|remarque[r]?|montre[zr]? (?:cela|ceci))\b/,
  user: /\b(?:l'utilisateur|utilisateurs?|l'utilisatrice|humain|à personne)\b/,
  secret: /(?:\bsecrète(?:ment)?\b|\ben secret\b|\bcache[zr]?\b|\bà l'insu\b|\bdiscrètement\b|pour toi)/,
  use: /\b(?:appelle[zr]?|appelé|utilise[zr]?|utilisé|invoque[zr]?|exécute[zr]?|lance[zr]?)\b/,
  thisTool: /\b(?:cet outil|cette fonction)\b/,
  first: /(?:\btoujours\b|quelle que soit|peu importe|quoi qu|en premier|d'abord|avant toute?|exclusivement)/,
  send: /\b(?:envoie[zs]?|envoyer|transmet(?:s|tez|tre)|inclu[stz]\w{0,3}|ajoute[zr]?|(?:re)?copie[zr]?|joins|joignez|mets|mettez|fournis|lis(?:ez)?|ouvre[zr]?)\b/,
  talk: /(?:historique de (?:la |cette )?(?:conversation|discussion)|prompt système|invite système|tout ce qui a été (?:dit|écrit)|tou(?:te|t|s)(?: \w+){0,2} (?:la |les |l'|le )?(?:conversation|discussion|messages|échanges|historique))/,
  earlier: /\b(?:messages?|échanges?|questions|conversations?) (?:précédente?s?|antérieure?s?|jusqu)/,
  keys: /(?:mots? de passe|identifiants de connexion|clés? privées?|jetons? d'accès|secrets de)/,
}

const SPANISH: Words = {
  gate: /\b(?:el|la|los|las|de|del|no|y|esta|este|que|todo|todas?|al)\b/,
  ignore:
    /\b(?:ignor[aeo]\w{0,2}|olvid[ae]\w{0,2}|desestim[ae]\w{0,2}|descart[ae]\w{0,2}|no (?:sigas|obedezcas|respetes)|(?:ya )?no tengas en cuenta|deja de seguir|(?:ya |aquí )?no (?:valen|rigen|aplican|cuentan))\b/,
  rules:
    /(?:\binstrucci[oó]n(?:es)?\b|\bindicaciones\b|\bórdenes\b|\breglas\b|\bnormas\b|\bdirectrices\b|\brestricciones\b|\bprompt\b)/,
  keep: /\b(?:no|nada|nunca|jamás|sin|ning[uú]n)\b/,
  you: /\b(?:tu|tus|te|estás|debes|desarrollador|operador)\b/,
  nobody: /\b(?:nadie|ninguna persona)\b/,
  tell: /\b(?:dig[ao]s?|decir(?:le)?|cuentes?|contar(?:le)?|informes?|informar|mencion[ae]s?|mencionar|reveles?|revelar|entere|enterarse|sepa|avises?|note|cuenta|perciba)\b/,
  user: /\b(?:usuari[oa]s?|cliente|humano|nadie)\b/,
  secret: /\b(?:en secreto|secretamente|a escondidas|ocult[ae]r?|oculto|discretamente|a espaldas)\b/,
  use: /\b(?:llam[ae]\w{0,2}|us[ae]r?|utili[zc][ae]r?|invo[cq]u?[ae]r?|ejecut[ae]r?)\b/,
  thisTool: /\best[ae] (?:herramienta|función)\b/,
  first:
    /(?:\bsiempre\b|sin importar|independientemente|pase lo que pase|\bprimero\b|antes (?:de hacer|que nada|de cualquier)|exclusivamente)/,
  send: /\b(?:env[ií][ae]\w{0,2}|mand[ae]|reenv[ií][ae]|incluy[ae]\w{0,2}|añad[ae]|agreg[au]e?|copi[ae]|pas[ae]|adjunt[ae]|lee|lea|abr[ae])\b/,
  talk: /(?:historial de la (?:conversación|charla)|prompt del sistema|todo lo que se ha (?:dicho|escrito)|tod[oa]s?(?: \w+){0,2} (?:la |los |el )?(?:conversación|mensajes|diálogo|charla|historial))/,
  earlier: /\b(?:mensajes?|preguntas|conversaci[oó]n(?:es)?) (?:anterior(?:es)?|previ[oa]s?)\b/,
  keys: /(?:contraseñas?|credenciales del|claves? privadas?|tokens? de acceso)/,
}

const PORTUGUESE: Words = {
  gate: /(?:\b(?:o|os|as|de|do|da|e|esta|este|que|tod[oa]s?|ao|no|nao)\b)/,
  ignore:
    /(?:\bignor[ae]\w{0,2}\b|\besque[cç][ae]\w{0,2}\b|\bdesconsider[ae]|\bdescart[ae]\b|não (?:siga|obedeça|respeite)|deix[ae] de (?:seguir|obedecer)|(?:já )?não (?:valem|se aplicam|contam))/,
  rules: /(?:instruç(?:ão|ões)|orientações|\bordens\b|\bregras\b|\bdiretrizes\b|\brestrições\b|\bprompt\b)/,
  keep: /(?:\bnão\b|\bnada\b|\bnunca\b|\bjamais\b|\bsem\b)/,
  you: /\b(?:você|seu|sua|suas|seus|tuas?|desenvolvedor|operador)\b/,
  nobody: /\b(?:ninguém|nenhuma pessoa)\b/,
  tell: /\b(?:diga|dizer|conte|contar|informe|informar|mencione|mencionar|revele|revelar|saber|saiba|descubra|descobrir|perceba|avise|avisar)\b/,
  user: /(?:usuári[oa]s?|utilizador(?:es)?|\bcliente\b|humano|ninguém)/,
  secret: /(?:em segredo|secretamente|às escondidas|\bocult[ae]r?\b|\bescond[ae]\b|discretamente)/,
  use: /\b(?:cham[ae]r?|us[ae]r?|utiliz[ae]r?|invo[cq]u?[ae]r?|execut[ae]r?)\b/,
  thisTool: /\best[ae] (?:ferramenta|função)\b/,
  first:
    /(?:\bsempre\b|não importa|independentemente|\bprimeiro\b|antes de (?:qualquer|tudo|fazer)|exclusivamente)/,
  send: /\b(?:envi[ae]|mand[ae]|encaminh[ae]|inclu[ia]|adicione|copie|pass[ae]|anexe|leia|abra)\b/,
  talk: /(?:histórico da conversa|prompt do sistema|tudo o que foi (?:dito|escrito)|tod[oa]s?(?: \w+){0,2} (?:a |as |o )?(?:conversa|mensagens|diálogo|histórico))/,
  earlier: /\b(?:mensage(?:m|ns)|perguntas|conversas?) (?:anterior(?:es)?|prévias?)\b/,
  keys: /(?:\bsenhas?\b|credenciais do|chaves? privadas?|tokens? de acesso)/,
}

const CHINESE: Words = {
  gate: /[\u4e00-\u9fff]/,
  ignore:
    /忽略|无视|忘记|(?:不要|不再|不必|不用|无需|停止)(?:再)?(?:遵守|遵循|服从|理会|按照|执行)|抛开|作废|无效|不适用|失效/,
  rules: /指令|指示|规则|提示词|要求|命令|系统提示|准则|限制|约束|规定/,
  keep: /不用|不要|不得|不能|勿|禁止|别|不可|不应|无需|避免|不让/,
  you: /你|您|开发者|运营/,
  nobody: /任何人|没有人|谁也/,
  tell: /告诉|告知|通知|提及|提起|透露|知道|知晓|察觉|发现|提到|看到这|说明这/,
  user: /用户|使用者|人类|客户|任何人/,
  secret: /保密|秘密|隐瞒|瞒着|偷偷|悄悄|暗中/,
  use: /调用|使用|运行|执行/,
  thisTool: /[此本该这]个?(?:工具|函数|功能)/,
  first: /总是|始终|一律|每次|无论|不管|首先|先(?:调用|使用|运行)|任何(?:其他|事)|之前.{0,10}必须/,
  send: /发送|上传|转发|提交|传递|附上|附加|放入|复制|填入|写入|读取|打开|传入|写入|包含在/,
  talk: /(?:完整|全部|所有|整个)的?(?:对话|聊天|会话|消息)|(?:对话|聊天|会话|谈话)(?:历史|记录|内容)|系统提示/,
  earlier: /(?:之前|以前|先前|此前|前面|历史)的?(?:消息|对话|聊天|问题|内容)/,
  keys: /密码|私钥|访问令牌|登录凭证|密钥文件/,
}

const JAPANESE: Words = {
  gate: /[\u3040-\u30ff]/,
  ignore: /無視|忘れて|従わない|従わず|従う必要はな|破棄して|守らな|無効|適用され(?:ない|ません)/,
  rules: /指示|命令|ルール|規則|プロンプト|ガイドライン|制限|方針/,
  keep: /ないで|ないよう|せず|ずに|てはいけ|てはなら|禁止|しない(?:こと|で)|必要は|いけません/,
  you: /あなた|開発者|運営|必要は/,
  nobody: /誰にも|誰も/,
  tell: /伝え|知らせ|言わ|話さ|教え|知られ|気づ|気付|報告|言及|明か|触れ|悟られ|ばれ/,
  user: /ユーザ|利用者|使用者|人間|誰に/,
  secret: /秘密に|内緒|隠して|こっそり|密かに|黙って/,
  use: /呼び出|使用し|使って|使う|実行し|利用し/,
  thisTool: /この(?:ツール|関数|機能)/,
  first: /必ず|常に|いつも|最初に|まず|よりも?先に|何を聞|どんな質問|前に必ず/,
  send: /送信|送って|転送|含めて|添付|渡し|入れて|アップロード|投稿|読み取|読んで|開いて|コピーし|書き写|書き込|記入/,
  talk: /(?:会話|チャット|対話)(?:の)?(?:全|すべて|履歴|内容|記録)|(?:全|すべて)の(?:会話|メッセージ)|システムプロンプト|会話の全|(?:ここまで|これまで|今まで)の(?:会話|やり取り|メッセージ)/,
  earlier: /(?:以前|これまで|前|過去|今まで)の(?:メッセージ|会話|やり取り|質問|発言)/,
  keys: /パスワード|秘密鍵|アクセストークン|認証情報を/,
}

const RUSSIAN: Words = {
  gate: /[а-яё]{3}/,
  ignore:
    /игнориру|забудь|забыть о|отбрось|пренебрег|не (?:следуй|соблюдай|выполняй|подчиняйся|учитывай)|не действу/,
  rules: /инструкци|указани|правил|команд|распоряжени|промпт|ограничени/,
  keep: /(?:^|[^\p{L}])(?:не|никогда|ничего|без|ни)(?![\p{L}])/u,
  you: /(?:^|[^\p{L}])(?:ты|тебя|тебе|твои|твоих|вы|вам|ваши|разработчик\p{L}{0,2}|оператор\p{L}{0,2})(?![\p{L}])/u,
  nobody: /(?:^|[^\p{L}])(?:никто|никому|никого)(?![\p{L}])/u,
  tell: /говори|сообща|сообщи|рассказ|упомина|уведомл|раскры|знал|знать|узна|замет|показывай|информир|ведома/,
  user: /пользовател|человек|клиент|никому/,
  secret: /в тайне|втайне|тайно|секрет|скрой|скрыва|скрытно|незаметно/,
  use: /вызыва|вызови|вызвать|использ|запуска|запусти|примен/,
  thisTool: /эт(?:от|у|ой|им|ого) (?:инструмент|функци)/,
  first: /всегда|независимо|что бы ни|каждый раз|первым|сначала|прежде|до любых|раньше всех/,
  send: /отправ|перешли|передай|пришли|включи|скопиру|добавь|вставь|загрузи|приложи|запиши|впиши|прочита|прочти|открой/,
  talk: /истори\p{L}{0,2} (?:\p{L}+ )?(?:разговор|диалог|чат|сообщен|переписк|бесед)|(?:весь|всю|все|полный|последние) (?:\p{L}+ )?(?:разговор|диалог|переписк|бесед|чат|сообщени)|системн\p{L}{1,3} промпт|вс[её],? что (?:было )?(?:сказано|написано)/u,
  earlier: /(?:предыдущ|прежн|ранн|прошл)\p{L}{1,3} (?:сообщени|вопрос|разговор|переписк|реплик)/u,
  keys: /парол|закрыт\p{L}{1,3} ключ|приватн\p{L}{1,3} ключ|учётные данные|учетные данные|токен\p{L}{0,2} доступа/u,
}

/** The words of every language but English, whose shapes are written out. */
export const OTHER_LANGUAGES: readonly Words[] = [
  GERMAN,
  FRENCH,
  SPANISH,
  PORTUGUESE,
  CHINESE,
  JAPANESE,
  RUSSIAN,
]
