import { describe, expect, it } from 'vitest'
import { describeBrokenCache, describeCutOff } from './launcher-cache.ts'

const HOME = '/home/me'
const FOLDER = '/home/me/.npm/_npx/c98ccc168155bafa'
const MEND = 'remove it, and the next start downloads it again: rm -rf ~/.npm/_npx/c98ccc168155bafa'

describe('describeBrokenCache', () => {
  it.each([
    [
      'a package that is missing',
      `node:internal/modules:1\n\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from ${FOLDER}/node_modules/x/index.js\n    at y`,
      "Cannot find package 'zod'",
    ],
    [
      'a file that is missing',
      `Error: Cannot find module '${FOLDER}/node_modules/x/dist/index.js'\n    at z`,
      'Cannot find module',
    ],
    [
      'a module that is missing, with the folder in the stack',
      `Error: Cannot find module 'zod'\nRequire stack:\n- ${FOLDER}/node_modules/x/index.js`,
      "Cannot find module 'zod'",
    ],
    [
      'an install that npm cannot replace',
      `npm error code ENOTEMPTY\nnpm error syscall rename\nnpm error path ${FOLDER}/node_modules/zod\nnpm error errno -39`,
      'ENOTEMPTY',
    ],
    [
      'an install without its package.json',
      `npm ERR! enoent ENOENT: no such file or directory, open '${FOLDER}/package.json'`,
      'ENOENT',
    ],
  ])('names the folder of npx to remove: %s', (_what, words, said) => {
    const reason = describeBrokenCache(words, HOME)
    expect(reason).toContain(`its package in the cache of npx is incomplete: `)
    expect(reason).toContain(said)
    expect(reason?.endsWith(`; ${MEND}`)).toBe(true)
  })

  it('names the whole folder, or none', () => {
    const words = (folder: string) => `Cannot find module '${folder}/_npx/c98ccc168155bafa/x.js'`
    expect(describeBrokenCache(words('/cache'), HOME)).toMatch(/: rm -rf \/cache\/_npx\/c98ccc168155bafa$/)
    expect(describeBrokenCache(words('file:///cache'), HOME)).toMatch(/: rm -rf \/cache\/_npx\/\w+$/)
    expect(describeBrokenCache(words('/a$b'), HOME)).toMatch(/: rm -rf '\/a\$b\/_npx\/c98ccc168155bafa'$/)
    expect(describeBrokenCache(words('/my cache/.npm'), HOME)).toBeUndefined()
    expect(describeBrokenCache(words('(CACHE)/.npm'), HOME)).toBeUndefined()
  })

  it('names the command that cleans the cache of uv', () => {
    const words =
      'error: failed to open file `/home/me/.cache/uv/wheels-v5/x.msgpack`: No such file or directory'
    expect(describeBrokenCache(words, HOME)).toMatch(/cache of uv is incomplete: .*; .*: uv cache clean$/)
  })

  it.each([
    ["Cannot find module 'pg-native'\nRequire stack:\n- /srv/app/index.js"],
    [`Error: ENOENT: no such file or directory, open '/data/x.json'\n    at run (${FOLDER}/x.js:1:1)`],
    [`listening, from ${FOLDER}`],
    ['npm error code E404'],
    [''],
  ])('leaves other exits alone: %j', (words) => {
    expect(describeBrokenCache(words, HOME)).toBeUndefined()
  })
})

describe('describeCutOff', () => {
  it('names what may be broken', () => {
    expect(describeCutOff({ name: 'npx', cache: '~/.npm/_npx' })).toMatch(
      /^npx did not end after SIGTERM .* may be broken: see ~\/\.npm\/_npx$/,
    )
    expect(describeCutOff({ name: 'docker' })).toMatch(/may be broken$/)
  })
})
