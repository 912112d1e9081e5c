import { onFirstUse } from '../../on-first-use.ts'
import { wordsOf } from '../lexical/text-words.ts'

/** Phrases that people use for what tools call by another name, and the tool words that they mean; `#` is any number. */
const PHRASES = `
  who changed: list commits history; who wrote: author history; how much is, how much does, how expensive: get price;
  what s on: list events; am i free: calendar availability; keep an eye on: monitor watch;
  google, on the web, on the internet: search web; look up, look for, dig up: search find;
  look into, find out: search get; check out, let me see: get view; show me: get list; give me: get;
  read me: get read; pull up: get open; what is in, what s in: list read; how many: count list;
  how big: get size info; who is: get user profile; who are: list users; catch me up: get history list;
  surf to, go to: navigate open; latest news: search news;
  must not forget, do not forget, don t forget: add task reminder; wake me, get me up: set alarm;
  remember, what i know about, keep in mind: create memory add observation;
  do i know about, do you know about, do you remember: search memory read knowledge;
  note that: create memory add note; note down: create note add; write down: create note write; jot down: create note;
  you know about me: read memory search knowledge; forget: delete memory; remind me: create reminder add;
  report a bug, file a bug, open an issue: create issue; open a ticket, raise a ticket: create issue ticket;
  open a pr, open a pull request: create pull request; open a case: create case; zip: create archive compress;
  unzip: extract archive; back up: create backup; bring back: restore undo;
  clean up, cross out, get rid of, throw away, take down: delete remove; sign off on: approve; hand in: submit;
  run out of, are out of: add shopping list; put on some: play; turn up: set increase; turn down: set decrease;
  set up: create configure; sign up: create register; put up: create post; put together: create;
  write up: create document write; come up with: generate create; make a picture: generate image screenshot;
  take a picture: screenshot capture; rename it: update rename; swap out: update replace;
  fill in, fill out: fill form update; turn on, switch on: enable start; turn off, switch off: disable stop;
  take off: remove delete; put away: archive; tick off, cross off, check off: complete update;
  call off: cancel delete; put off, push back: update reschedule; hand over: assign update; undo: revert reset;
  tell everyone, let the team know, tell everybody, let everyone know, let everybody know: send message post;
  say hi, let them know, let her know, let him know, write to, drop a line, say hello: send message;
  let me know when: notify alert monitor; get back to: reply send; ping: send message notify; dm: send direct message;
  text my: send message sms; shoot an: send; thumbs up: add reaction; post to: send create message; land it: merge;
  how high: elevation height; how do i get to, how do i get from: directions route;
  close by, around here, near me, nearby: search nearby places; days off: leave; vacation days: leave balance;
  pr: pull request; prs: pull requests; repo: repository; repos: repositories; db: database; k8s: kubernetes;
  pic: image picture; pics: images pictures; msg: message; ooo: auto reply; log in, log into: login authenticate sign;
  sign in: login authenticate; log out: logout sign; fire up: start run; spin up: create start deploy;
  shut down: stop terminate; kick off: start run trigger; hook up: connect create link; roll out: deploy release;
  roll back: revert rollback; run the numbers: calculate report;
  add numbers, add two numbers, add the numbers, add up, add # and #, add # to #: sum calculate;
  # plus #: sum add calculate; pay back: refund create; bill them: create invoice;
  in english, how do you say: translate; how long does it take: duration directions distance;
  how far: distance directions; sum up, boil down: summarize`

interface Phrase {
  readonly words: readonly string[]
  readonly verbs: readonly string[]
}

const phrasesByFirstWord = onFirstUse((): ReadonlyMap<string, readonly Phrase[]> => {
  const phrases = new Map<string, Phrase[]>()
  for (const entry of PHRASES.split(';')) {
    const [written = '', verbs = ''] = entry.split(':')
    for (const phrase of written.split(',')) {
      const words = listed(phrase)
      const [first = ''] = words
      phrases.set(first, [...(phrases.get(first) ?? []), { words, verbs: listed(verbs) }])
    }
  }
  return phrases
})

function listed(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}

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
