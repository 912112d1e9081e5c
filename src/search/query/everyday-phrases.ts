import { onFirstUse } from '../../on-first-use.ts'
import { wordsOf } from '../lexical/text-words.ts'

/** Phrases that people use for what tools call by another name, and the tool words that they mean; `#` is any number. */
const PHRASES: Readonly<Record<string, string>> = {
  // Looking things up
  'who changed': 'list commits history',
  'who wrote': 'author history',
  'how much is': 'get price',
  'how much does': 'get price',
  'how expensive': 'get price',
  'what s on': 'list events',
  'am i free': 'calendar availability',
  'keep an eye on': 'monitor watch',
  google: 'search web',
  'look up': 'search find',
  'look for': 'search find',
  'look into': 'search get',
  'dig up': 'search find',
  'check out': 'get view',
  'show me': 'get list',
  'let me see': 'get view',
  'give me': 'get',
  'read me': 'get read',
  'pull up': 'get open',
  'what is in': 'list read',
  'what s in': 'list read',
  'how many': 'count list',
  'how big': 'get size info',
  'who is': 'get user profile',
  'who are': 'list users',
  'catch me up': 'get history list',
  'find out': 'search get',
  'on the web': 'search web',
  'on the internet': 'search web',
  'surf to': 'navigate open',
  'go to': 'navigate open',
  'latest news': 'search news',
  // Remembering
  'must not forget': 'add task reminder',
  'do not forget': 'add task reminder',
  'don t forget': 'add task reminder',
  'wake me': 'set alarm',
  'get me up': 'set alarm',
  remember: 'create memory add observation',
  'what i know about': 'create memory add observation',
  'do i know about': 'search memory read knowledge',
  'keep in mind': 'create memory add observation',
  'note that': 'create memory add note',
  'note down': 'create note add',
  'write down': 'create note write',
  'jot down': 'create note',
  'do you know about': 'search memory read knowledge',
  'do you remember': 'search memory read knowledge',
  'you know about me': 'read memory search knowledge',
  forget: 'delete memory',
  'remind me': 'create reminder add',
  // Making, changing, removing
  'report a bug': 'create issue',
  'file a bug': 'create issue',
  'open a ticket': 'create issue ticket',
  'open an issue': 'create issue',
  'open a pr': 'create pull request',
  'open a pull request': 'create pull request',
  'open a case': 'create case',
  'raise a ticket': 'create issue ticket',
  zip: 'create archive compress',
  unzip: 'extract archive',
  'back up': 'create backup',
  'bring back': 'restore undo',
  'clean up': 'delete remove',
  'cross out': 'delete remove',
  'sign off on': 'approve',
  'hand in': 'submit',
  'run out of': 'add shopping list',
  'are out of': 'add shopping list',
  'put on some': 'play',
  'turn up': 'set increase',
  'turn down': 'set decrease',
  'set up': 'create configure',
  'sign up': 'create register',
  'put up': 'create post',
  'put together': 'create',
  'write up': 'create document write',
  'come up with': 'generate create',
  'make a picture': 'generate image screenshot',
  'take a picture': 'screenshot capture',
  'rename it': 'update rename',
  'swap out': 'update replace',
  'fill in': 'fill form update',
  'fill out': 'fill form update',
  'turn on': 'enable start',
  'turn off': 'disable stop',
  'switch on': 'enable start',
  'switch off': 'disable stop',
  'get rid of': 'delete remove',
  'throw away': 'delete remove',
  'take down': 'delete remove',
  'take off': 'remove delete',
  'put away': 'archive',
  'tick off': 'complete update',
  'cross off': 'complete update',
  'check off': 'complete update',
  'call off': 'cancel delete',
  'put off': 'update reschedule',
  'push back': 'update reschedule',
  'hand over': 'assign update',
  undo: 'revert reset',
  // Saying things to people
  'tell everyone': 'send message post',
  'let the team know': 'send message post',
  'say hi': 'send message',
  'tell everybody': 'send message post',
  'let everyone know': 'send message post',
  'let everybody know': 'send message post',
  'let me know when': 'notify alert monitor',
  'let them know': 'send message',
  'let her know': 'send message',
  'let him know': 'send message',
  'get back to': 'reply send',
  'write to': 'send message',
  'drop a line': 'send message',
  ping: 'send message notify',
  dm: 'send direct message',
  'text my': 'send message sms',
  'shoot an': 'send',
  'thumbs up': 'add reaction',
  'post to': 'send create message',
  'say hello': 'send message',
  // Machines and money
  'land it': 'merge',
  'how high': 'elevation height',
  'how do i get to': 'directions route',
  'how do i get from': 'directions route',
  'close by': 'search nearby places',
  'around here': 'search nearby places',
  'days off': 'leave',
  'vacation days': 'leave balance',
  // Short forms
  pr: 'pull request',
  prs: 'pull requests',
  repo: 'repository',
  repos: 'repositories',
  db: 'database',
  k8s: 'kubernetes',
  pic: 'image picture',
  pics: 'images pictures',
  msg: 'message',
  ooo: 'auto reply',
  'log in': 'login authenticate sign',
  'log into': 'login authenticate sign',
  'sign in': 'login authenticate',
  'log out': 'logout sign',
  'fire up': 'start run',
  'spin up': 'create start deploy',
  'shut down': 'stop terminate',
  'kick off': 'start run trigger',
  'hook up': 'connect create link',
  'roll out': 'deploy release',
  'roll back': 'revert rollback',
  'run the numbers': 'calculate report',
  'add numbers': 'sum calculate',
  'add two numbers': 'sum calculate',
  'add the numbers': 'sum calculate',
  'add up': 'sum calculate',
  'add # and #': 'sum calculate',
  'add # to #': 'sum calculate',
  '# plus #': 'sum add calculate',
  'pay back': 'refund create',
  'bill them': 'create invoice',
  'in english': 'translate',
  'how do you say': 'translate',
  'how long does it take': 'duration directions distance',
  'how far': 'distance directions',
  'near me': 'search nearby places',
  nearby: 'search nearby places',
  'sum up': 'summarize',
  'boil down': 'summarize',
}

interface Phrase {
  readonly words: readonly string[]
  readonly verbs: readonly string[]
}

const phrasesByFirstWord = onFirstUse((): ReadonlyMap<string, readonly Phrase[]> => {
  const phrases = new Map<string, Phrase[]>()
  for (const [phrase, verbs] of Object.entries(PHRASES)) {
    const words = phrase.split(' ')
    const entry = { words, verbs: verbs.split(' ') }
    const [first = ''] = words
    const others = phrases.get(first)
    if (others === undefined) phrases.set(first, [entry])
    else others.push(entry)
  }
  return phrases
})

/** Maximum tool words to add: a long request would otherwise be more about them than about itself. */
const MAX_VERBS = 4

/** The tool words that the everyday phrases of a text mean, each with its phrase. */
export function everydayVerbs(text: string): readonly { readonly phrase: string; readonly verb: string }[] {
  const words = wordsOf(text)
  const byFirstWord = phrasesByFirstWord()
  const verbs = new Map<string, string>()
  let next = 0
  for (let at = 0; at < words.length && verbs.size < MAX_VERBS; at = next) {
    next = at + 1
    for (const phrase of byFirstWord.get(firstOf(words[at] as string)) ?? []) {
      if (!phrase.words.every((word, offset) => isWord(words[at + offset], word))) continue
      // Words within a phrase do not count as phrases: "do you remember" asks, "remember" tells.
      next = Math.max(next, at + phrase.words.length)
      for (const verb of phrase.verbs)
        if (!words.includes(verb) && !verbs.has(verb) && verbs.size < MAX_VERBS)
          verbs.set(verb, asWritten(phrase.words))
    }
  }
  return Array.from(verbs, ([verb, phrase]) => ({ phrase, verb }))
}

/** `what s in` is "what's in". */
function asWritten(words: readonly string[]): string {
  return words.join(' ').replace(/ (?=[st](?: |$))/g, "'")
}

const NUMBER = /^\d+$/

/** Numbers are listed under `#`. */
function firstOf(word: string): string {
  return NUMBER.test(word) ? '#' : word
}

function isWord(written: string | undefined, word: string): boolean {
  return word === '#' ? written !== undefined && NUMBER.test(written) : written === word
}
